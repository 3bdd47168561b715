import { describe, expect, it } from 'vitest';
import { encodeHeaders, HpackDecoder, type HeaderField } from './index.js';
import { STATIC_TABLE } from './static-table.js';

const limits = { maxListBytes: 1e7, maxFields: 1_000 };

const hexOf = (...fields: HeaderField[]): string => encodeHeaders(fields).toString('hex');

const ascii = (text: string): string => Buffer.from(text).toString('hex');

describe('encodeHeaders', () => {
  it('takes a whole field from the static table', () => {
    expect(hexOf([':method', 'GET'], [':path', '/index.html'], [':status', '500'])).toBe('82858e');
    expect(hexOf(['accept-encoding', 'gzip, deflate'], ['date', ''])).toBe('90a1');
  });

  it('takes a name from the static table', () => {
    expect(hexOf([':path', '/x'])).toBe(`0402${ascii('/x')}`);
    expect(hexOf(['user-agent', 'x'])).toBe(`0f2b01${ascii('x')}`);
  });

  it('writes other fields plain and without indexing', () => {
    expect(hexOf(['ab', 'cde'])).toBe(`0002${ascii('ab')}03${ascii('cde')}`);
    expect(hexOf(['', ''])).toBe('000000');
  });

  it.each([
    ['authorization', '1f08'],
    ['cookie', '1f11'],
    ['proxy-authorization', '1f22'],
    ['set-cookie', '1f28'],
  ])('lets nobody index %s', (name, prefix) => {
    expect(hexOf([name, 'x'])).toBe(`${prefix}01${ascii('x')}`);
    expect(hexOf([name, ''])).toBe(`${prefix}00`);
  });

  it('knows every entry of the static table', () => {
    const fields = STATIC_TABLE.filter(
      ([name]) => !/^(authorization|cookie|proxy-authorization|set-cookie)$/.test(name),
    );
    expect(fields).toHaveLength(57);
    expect(encodeHeaders(fields)).toHaveLength(57);
    expect(STATIC_TABLE).toHaveLength(61);
  });

  it.each([0, 1, 126, 127, 128, 254, 255, 16_509, 16_510, 16_511, 70_000, 2_100_000])(
    'writes a value of %i bytes',
    (length) => {
      const fields: HeaderField[] = [
        ['name', 'v'.repeat(length)],
        [':path', '/'.repeat(length)],
      ];
      expect(new HpackDecoder(limits).decode(encodeHeaders(fields))).toEqual({ kind: 'fields', fields });
    },
  );

  it('gives the same bytes for the same fields, and none for none', () => {
    const fields: HeaderField[] = [
      [':status', '200'],
      ['a', 'b'],
      ['authorization', 'c'],
    ];
    expect(encodeHeaders(fields)).toEqual(encodeHeaders(fields));
    expect(encodeHeaders([])).toHaveLength(0);
  });

  it('writes latin1 and refuses what is not', () => {
    expect(hexOf(['a', '\u00e4\u00ff\n'])).toBe('00016103e4ff0a');
    expect(() => encodeHeaders([['a', '\u010a']])).toThrow(TypeError);
    expect(() => encodeHeaders([['\u{1f600}', 'b']])).toThrow(TypeError);
  });
});
