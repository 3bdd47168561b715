export { readRecordedSession, type RecordedStream } from './recorded-session.js';
