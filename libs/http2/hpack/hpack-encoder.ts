import type { HeaderField } from './header-field.js';
import { STATIC_TABLE } from './static-table.js';

/** Never indexed, so that no intermediary puts a secret into a table that others can probe (RFC 7541 7.1.3). */
const SECRET_NAMES: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization', 'set-cookie']);

/** The byte that begins a literal, and its lengths when they take as many bytes as an integer can. */
const MAX_FIELD_FRAMING_BYTES = 1 + 6 + 6;

const INDEXED = 0x80;
const WITHOUT_INDEXING = 0x00;
const NEVER_INDEXED = 0x10;

/** The first index of each name in the static table. */
const STATIC_INDEX = new Map(STATIC_TABLE.map(([name], place) => [name, place + 1] as const).toReversed());

/**
 * A header block (RFC 7541) from the static table and literals without indexing; `authorization`, `cookie`,
 * `proxy-authorization` and `set-cookie` are never indexed. Stateless: the same fields always give the same bytes, for
 * any connection, so callers may keep the result. Throws TypeError on a character that is not latin1.
 */
export function encodeHeaders(fields: readonly HeaderField[]): Buffer {
  let maxBytes = 0;
  for (const [name, value] of fields) maxBytes += name.length + value.length + MAX_FIELD_FRAMING_BYTES;
  const block = Buffer.allocUnsafe(maxBytes);
  let offset = 0;
  for (const field of fields) offset = writeField(block, offset, field);
  return block.subarray(0, offset);
}

/** This and the functions below return the offset after what they wrote. */
function writeField(block: Buffer, offset: number, [name, value]: HeaderField): number {
  const secret = SECRET_NAMES.has(name);
  const nameIndex = STATIC_INDEX.get(name) ?? 0;
  const index = secret || nameIndex === 0 ? 0 : indexOfField(nameIndex, name, value);
  if (index > 0) return writeInteger(block, offset, INDEXED, 7, index);
  const afterName = writeInteger(block, offset, secret ? NEVER_INDEXED : WITHOUT_INDEXING, 4, nameIndex);
  return writeString(block, nameIndex > 0 ? afterName : writeString(block, afterName, name), value);
}

/** Entries of one name stand together; 0 when none of them has the value. */
function indexOfField(firstIndex: number, name: string, value: string): number {
  for (let index = firstIndex; STATIC_TABLE[index - 1]?.[0] === name; index++) {
    if (STATIC_TABLE[index - 1]?.[1] === value) return index;
  }
  return 0;
}

/** RFC 7541 5.2, not Huffman coded: what it saves on a link is less than what it costs at both ends. */
function writeString(block: Buffer, offset: number, text: string): number {
  // Written as latin1, such a character would turn into another one.
  if (/[\u0100-\uffff]/.test(text)) throw new TypeError('a header that is not latin1');
  const start = writeInteger(block, offset, 0, 7, text.length);
  return start + block.write(text, start, 'latin1');
}

/** RFC 7541 5.1, after the `pattern` in the high bits of the first byte. */
function writeInteger(block: Buffer, offset: number, pattern: number, prefixBits: number, value: number): number {
  const full = (1 << prefixBits) - 1;
  if (value < full) {
    block[offset] = pattern | value;
    return offset + 1;
  }
  block[offset++] = pattern | full;
  let rest = value - full;
  for (; rest >= 0x80; rest >>>= 7) block[offset++] = (rest & 0x7f) | 0x80;
  block[offset++] = rest;
  return offset;
}
