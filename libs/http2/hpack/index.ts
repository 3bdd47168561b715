export type { DecodedBlock, HeaderLimits } from './field-list.js';
export { type HeaderField, HpackError } from './header-field.js';
export { HpackDecoder } from './hpack-decoder.js';
export { encodeHeaders } from './hpack-encoder.js';
