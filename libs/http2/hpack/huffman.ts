import { HpackError } from './header-field.js';

/** The symbol that never stands in a string: its first bits are the padding (RFC 7541 5.2). */
const END_OF_STRING = 256;

/** A padding has at most so many bits; more would be a byte that need not have been sent. */
const MAX_PADDING_BITS = 7;

/**
 * Bits of the code of each symbol, 0 to 256 (RFC 7541 appendix B). The code is canonical: shorter codes first, then
 * smaller symbols, counted up. The lengths are therefore the whole code.
 */
export const HUFFMAN_CODE_BITS: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28,
  28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6,
  5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23,
  22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22,
  23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26,
  20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27,
  27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27,
  27, 27, 27, 26, 30,
];

/**
 * What four bits do, by state and bits. A state is an inner node of the code tree: where between two symbols the bits
 * so far lead to. No code has fewer than five bits, so four bits end at most one symbol. Low byte: the next state;
 * second byte: the symbol; then the two flags.
 */
const TRANSITIONS = new Uint32Array(256 * 16);
const EMITS = 1 << 16;
const FAILS = 1 << 17;

/** 1 for the states in which a string may end. */
const MAY_END = new Uint8Array(256);

/** Where most strings are put together: no allocation but the string itself. */
const SCRATCH = Buffer.alloc(4096);

fillTables(codeTree());

/**
 * The text of block[start, end), or undefined when it has more than `maxBytes` bytes: then it is checked to its end,
 * but not put together. Throws HpackError on an encoded EOS and on a padding that is too long or not of ones.
 */
export function decodeHuffman(block: Buffer, start: number, end: number, maxBytes: number): string | undefined {
  // The shortest code has five bits: a string cannot have more bytes than this.
  const room = Math.min(maxBytes, Math.floor(((end - start) * 8) / 5));
  const target = room <= SCRATCH.length ? SCRATCH : Buffer.allocUnsafe(room);
  const length = expand(block, start, end, target, room);
  return length > room ? undefined : target.toString('latin1', 0, length);
}

/** Returns the decoded length; bytes beyond `room` are counted, not written. */
function expand(block: Buffer, start: number, end: number, target: Buffer, room: number): number {
  let state = 0;
  let length = 0;
  for (let half = 2 * start; half < 2 * end; half++) {
    const byte = block[half >> 1] as number;
    const bits = (half & 1) === 0 ? byte >> 4 : byte & 15;
    const transition = TRANSITIONS[(state << 4) | bits] as number;
    if (transition & FAILS) throw new HpackError('a Huffman string with an encoded EOS');
    if (transition & EMITS && length++ < room) target[length - 1] = (transition >> 8) & 0xff;
    state = transition & 0xff;
  }
  if (MAY_END[state] === 0) throw new HpackError('a Huffman string with a wrong padding');
  return length;
}

/** The two children of node n at 2n and 2n + 1: an inner node, or a symbol s as -1 - s. Node 0 is the root. */
type CodeTree = Int16Array;

function codeTree(): CodeTree {
  const tree: CodeTree = new Int16Array(2 * 256);
  const symbols = HUFFMAN_CODE_BITS.map((bits, symbol) => ({ bits, symbol })).sort(
    (a, b) => a.bits - b.bits || a.symbol - b.symbol,
  );
  let nodes = 1;
  let code = 0;
  let codeBits = 0;
  for (const { bits, symbol } of symbols) {
    code <<= bits - codeBits;
    codeBits = bits;
    let node = 0;
    for (let bit = bits - 1; bit > 0; bit--) {
      const child = 2 * node + ((code >> bit) & 1);
      node = tree[child] ||= nodes++;
    }
    tree[2 * node + (code & 1)] = -1 - symbol;
    code++;
  }
  return tree;
}

function fillTables(tree: CodeTree): void {
  for (let state = 0; state < 256; state++) {
    for (let bits = 0; bits < 16; bits++) TRANSITIONS[(state << 4) | bits] = walk(tree, state, bits);
  }
  for (let ones = 0, node = 0; ones <= MAX_PADDING_BITS; ones++) {
    MAY_END[node] = 1;
    node = tree[2 * node + 1] as number;
  }
}

function walk(tree: CodeTree, state: number, bits: number): number {
  let node = state;
  let emitted = 0;
  for (let bit = 3; bit >= 0; bit--) {
    const child = tree[2 * node + ((bits >> bit) & 1)] as number;
    if (child === -1 - END_OF_STRING) return FAILS;
    if (child < 0) emitted = EMITS | ((-1 - child) << 8);
    node = Math.max(child, 0);
  }
  return emitted | node;
}
