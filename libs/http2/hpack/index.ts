export type { DecodedBlock, HeaderLimits } from './field-list.js';
export type { HeaderField } from './header-field.js';
export { HpackDecoder } from './hpack-decoder.js';
export { encodeHeaders } from './hpack-encoder.js';
export { HpackError } from './hpack-error.js';
