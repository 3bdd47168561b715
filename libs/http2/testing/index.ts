export { readRecordedSession, type RecordedStream } from './recorded-session.js';
export { FLAG, FRAME, PREFACE, SETTING } from '../wire/constants.js';
export { frame, goawayFrame, pingFrame, rstStreamFrame, settingsFrame, windowUpdateFrame } from '../wire/frames.js';
