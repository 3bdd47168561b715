export { ERROR_KINDS, isErrorCode, type ErrorCode, type ErrorKind, type LogLevel } from './codes.js';
export {
  FairleadError,
  assertNever,
  fromWire,
  messageOf,
  toFairleadError,
  type ErrorDetails,
  type FairleadErrorOptions,
  type WireError,
} from './fairlead-error.js';
export { oneLine } from './fairlead-error.js';
