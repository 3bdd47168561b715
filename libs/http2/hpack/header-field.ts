/** Name and value, lower-case names. Strings are latin1: one character, one byte. */
export type HeaderField = readonly [name: string, value: string];

/** What a field counts for beside its name and value, in a table (RFC 7541 4.1) and in a list (RFC 9113 10.5.1). */
export const FIELD_OVERHEAD_BYTES = 32;

/** The size of a field by which tables and lists are limited. */
export function fieldBytes(field: HeaderField): number {
  return field[0].length + field[1].length + FIELD_OVERHEAD_BYTES;
}

/** Thrown by decode(): the connection cannot go on (COMPRESSION_ERROR, RFC 9113 4.3). The message holds nothing of the block. */
export class HpackError extends Error {
  override readonly name = 'HpackError';
}
