import { HpackError } from './header-field.js';
import { decodeHuffman } from './huffman.js';

/** No number in a block can mean anything beyond this: strings are shorter and tables smaller. */
const MAX_INTEGER = 2 ** 31;
const MAX_CONTINUATION_BYTES = 5;

/** Reads the primitive types of a header block (RFC 7541 5). Every method throws HpackError when the block ends too early. */
export class BlockReader {
  readonly #block: Buffer;
  #offset = 0;

  constructor(block: Buffer) {
    this.#block = block;
  }

  get ended(): boolean {
    return this.#offset >= this.#block.length;
  }

  /** The byte that comes next: its high bits tell what it begins. */
  peek(): number {
    const byte = this.#block[this.#offset];
    if (byte === undefined) throw new HpackError('a truncated header block');
    return byte;
  }

  /** An integer in the low `prefixBits` of the next byte and, if it does not fit, the bytes after it (RFC 7541 5.1). */
  integer(prefixBits: number): number {
    const full = (1 << prefixBits) - 1;
    const prefix = this.#next() & full;
    return prefix < full ? prefix : this.#continued(full);
  }

  /** A string (RFC 7541 5.2), or undefined when it has more than `maxBytes` bytes: then it is checked, but not made. */
  string(maxBytes: number): string | undefined {
    const huffman = this.peek() >= 0x80;
    const length = this.integer(7);
    const start = this.#offset;
    const end = start + length;
    if (end > this.#block.length) throw new HpackError('a truncated string');
    this.#offset = end;
    if (huffman) return decodeHuffman(this.#block, start, end, maxBytes);
    return length > maxBytes ? undefined : this.#block.toString('latin1', start, end);
  }

  #continued(prefix: number): number {
    let value = prefix;
    let unit = 1;
    for (let bytes = 0; bytes < MAX_CONTINUATION_BYTES; bytes++) {
      const byte = this.#next();
      value += (byte & 0x7f) * unit;
      if (value > MAX_INTEGER) throw new HpackError('an integer beyond 2^31');
      if (byte < 0x80) return value;
      unit *= 0x80;
    }
    throw new HpackError('an integer of too many bytes');
  }

  #next(): number {
    const byte = this.peek();
    this.#offset++;
    return byte;
  }
}
