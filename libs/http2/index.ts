export { connectHttp2, Http2Session } from './session.js';
export { SessionError } from './errors.js';
export { headerValue, type RequestHead, type ResponseHead } from './header-rules.js';
export type { HeaderField } from './hpack/index.js';
export { DEFAULT_ABUSE_LIMITS, type AbuseLimits, type Allowance, type SessionOptions } from './options.js';
export { Http2Server, type Http2ServerOptions } from './server.js';
export type { StreamReceiver, Http2Stream } from './stream.js';
export type { WindowGrowth } from './window-growth.js';
export {
  CODE as HTTP2_CODE,
  DEFAULT_MAX_FRAME_BYTES as LARGEST_FRAME_BYTES,
  FLAG,
  FRAME,
  FRAME_HEADER_BYTES,
  PREFACE as HTTP2_PREFACE,
} from './wire/constants.js';
export { goawayFrame, settingsFrame } from './wire/frames.js';
