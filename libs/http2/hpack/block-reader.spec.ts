import { describe, expect, it } from 'vitest';
import { BlockReader } from './block-reader.js';
import { HpackError } from './header-field.js';

const reader = (text: string): BlockReader => new BlockReader(Buffer.from(text.replaceAll(' ', ''), 'hex'));

describe('an integer', () => {
  it.each([
    ['C.1.1', '0a', 5, 10],
    ['C.1.2', '1f 9a 0a', 5, 1337],
    ['C.1.3', '2a', 8, 42],
    ['high bits that are not its own', 'ea', 5, 10],
    ['the first that does not fit', 'ff 00', 7, 127],
    ['zeros that need not be', 'ff 80 80 80 80 00', 7, 127],
    ['the largest', 'ff 81 ff ff ff 07', 7, 2 ** 31],
  ])('is read: %s', (_, bytes, prefixBits, value) => {
    const block = reader(bytes);
    expect(block.integer(prefixBits)).toBe(value);
    expect(block.ended).toBe(true);
  });

  it.each([
    ['2^31 + 1', 'ff 82 ff ff ff 07'],
    ['five bytes of ones', 'ff ff ff ff ff 7f'],
    ['six further bytes', 'ff 80 80 80 80 80 00'],
    ['no end', 'ff 80'],
    ['no beginning', ''],
  ])('is refused: %s', (_, bytes) => {
    expect(() => reader(bytes).integer(7)).toThrow(HpackError);
  });
});

describe('a string', () => {
  it.each([
    ['plain', '03 61 62 63'],
    ['Huffman coded', '82 1c 64'],
  ])('is passed over when it is longer than wanted: %s', (_, bytes) => {
    const block = reader(`${bytes} 01 7a`);
    expect(block.string(1)).toBeUndefined();
    expect(block.string(1)).toBe('z');
    expect(block.ended).toBe(true);
  });
});
