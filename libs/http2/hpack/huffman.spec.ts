import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HpackError } from './header-field.js';
import { decodeHuffman, HUFFMAN_CODE_BITS } from './huffman.js';

/** The codes as strings of 0 and 1, from the lengths: shorter first, then by symbol, counted up. */
const CODES = (() => {
  const codes: string[] = [];
  let next = 0n;
  for (let bits = 1; bits <= 30; bits++) {
    next <<= 1n;
    for (const [symbol, length] of HUFFMAN_CODE_BITS.entries()) {
      if (length === bits) codes[symbol] = (next++).toString(2).padStart(bits, '0');
    }
  }
  return codes;
})();

const EOS = CODES[256] as string;

const bitsOf = (text: string): string => [...Buffer.from(text, 'latin1')].map((symbol) => CODES[symbol]).join('');

/** Whole bytes; what is missing of the last one is filled from `padding`. */
function bytesOf(bits: string, padding = '1111111'): Buffer {
  const whole = bits + padding.slice(0, (8 - (bits.length % 8)) % 8);
  return Buffer.from((whole.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

const decode = (bytes: Buffer, maxBytes = 1e6): string | undefined => decodeHuffman(bytes, 0, bytes.length, maxBytes);

describe('the code', () => {
  it.each([
    [0, 0x1ff8, 13],
    [1, 0x7fffd8, 23],
    [9, 0xffffea, 24],
    [10, 0x3ffffffc, 30],
    [13, 0x3ffffffd, 30],
    [22, 0x3ffffffe, 30],
    [33, 0x3f8, 10],
    [48, 0x0, 5],
    [97, 0x3, 5],
    [92, 0x7fff0, 19],
    [127, 0xffffffc, 28],
    [249, 0xffffffe, 28],
    [255, 0x3ffffee, 26],
    [256, 0x3fffffff, 30],
  ])('of symbol %i is the one of RFC 7541 appendix B', (symbol, code, bits) => {
    expect(CODES[symbol]).toBe(code.toString(2).padStart(bits, '0'));
  });

  it('is complete: no bits mean nothing', () => {
    expect(HUFFMAN_CODE_BITS).toHaveLength(257);
    expect(HUFFMAN_CODE_BITS.reduce((sum, bits) => sum + 2 ** -bits, 0)).toBe(1);
  });
});

describe('decodeHuffman', () => {
  it('decodes every byte alone', () => {
    for (let byte = 0; byte < 256; byte++) {
      const text = String.fromCharCode(byte);
      expect(decode(bytesOf(bitsOf(text)))).toBe(text);
    }
  });

  it('decodes any bytes, between others', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat(5), (bytes, before) => {
        const text = Buffer.from(bytes).toString('latin1');
        const encoded = bytesOf(bitsOf(text));
        const block = Buffer.concat([Buffer.alloc(before, 0xaa), encoded, Buffer.alloc(3, 0x55)]);
        expect(decodeHuffman(block, before, before + encoded.length, bytes.length)).toBe(text);
      }),
    );
  });

  it('decodes a string longer than its scratch space', () => {
    const text = 'a long one, '.repeat(1000);
    expect(decode(bytesOf(bitsOf(text)))).toBe(text);
  });

  it('makes no string longer than the most that is wanted, but checks it', () => {
    const encoded = bytesOf(bitsOf('wanted'));
    expect(decode(encoded, 6)).toBe('wanted');
    expect(decode(encoded, 5)).toBeUndefined();
    expect(decode(encoded, -1)).toBeUndefined();
    expect(decode(Buffer.alloc(0), -1)).toBeUndefined();
    expect(() => decode(Buffer.concat([encoded, Buffer.of(0xff)]), -1)).toThrow(HpackError);
  });

  it.each([
    ['a padding of eight bits', bytesOf(bitsOf('00000000') + '11111111')],
    ['nothing but a padding of eight bits', Buffer.of(0xff)],
    ['a padding of twelve bits', bytesOf(`${bitsOf('00000000000')}1`.padEnd(64, '1'))],
    ['a padding of zeros', bytesOf(bitsOf('a'), '0000000')],
    ['a padding that ends in a zero', bytesOf(bitsOf('a'), '110')],
    ['a symbol cut off', bytesOf(bitsOf('\n')).subarray(0, 2)],
    ['EOS alone', bytesOf(EOS)],
    ['EOS at the end', bytesOf(bitsOf('a') + EOS)],
    ['EOS in the middle', bytesOf(bitsOf('ab') + EOS + bitsOf('c'))],
  ])('refuses %s', (_, bytes) => {
    expect(() => decode(bytes)).toThrow(HpackError);
  });

  it('refuses EOS after any number of bits', () => {
    for (let zeros = 0; zeros < 8; zeros++)
      expect(() => decode(bytesOf(bitsOf('0'.repeat(zeros)) + EOS))).toThrow(HpackError);
  });

  it('takes a padding of up to seven bits', () => {
    for (let zeros = 0; zeros < 8; zeros++) expect(decode(bytesOf(bitsOf('0'.repeat(zeros))))).toBe('0'.repeat(zeros));
  });
});
