import { describe, expect, it } from 'vitest';
import { HeaderAssembly } from './header-block.js';
import { headerValue, readRequest, readResponse, readTrailers } from './header-rules.js';
import { encodeHeaders, type HeaderField } from './hpack/index.js';
import { CODE, FLAG } from './wire/constants.js';

const HEAD: readonly HeaderField[] = [
  [':method', 'POST'],
  [':scheme', 'https'],
  [':path', '/a'],
  [':authority', 'b'],
];
const without = (name: string): HeaderField[] => HEAD.filter(([each]) => each !== name);

describe('a request', () => {
  it('is its pseudo headers and its fields', () => {
    const fields: HeaderField[] = [
      ['te', 'trailers'],
      ['x', ''],
    ];
    expect(readRequest([...HEAD, ...fields])).toEqual({ method: 'POST', path: '/a', authority: 'b', fields });
    expect(readRequest(without(':authority'))?.authority).toBe('');
  });

  it.each<[string, readonly HeaderField[]]>([
    ['no method', without(':method')],
    ['no scheme', without(':scheme')],
    ['no path', without(':path')],
    ['an empty path', [...without(':path'), [':path', '']]],
    ['two paths', [...HEAD, [':path', '/b']]],
    ['an unknown pseudo header', [...HEAD, [':protocol', 'x']]],
    ['a pseudo header of answers', [...HEAD, [':status', '200']]],
    ['a pseudo header after a field', [['x', 'y'], ...HEAD]],
    ['a pseudo header with a NUL', [...without(':path'), [':path', '/\0']]],
    ['an upper-case name', [...HEAD, ['X', 'y']]],
    ['an empty name', [...HEAD, ['', 'y']]],
    ['a name with a space', [...HEAD, ['x y', 'z']]],
    ['a name beyond ASCII', [...HEAD, ['\u00e4', 'z']]],
    ['a value with a CR', [...HEAD, ['x', 'a\rb']]],
    ['a value with an LF', [...HEAD, ['x', 'a\nb']]],
    ['a value with a NUL', [...HEAD, ['x', '\0']]],
    ['a value that begins with a space', [...HEAD, ['x', ' a']]],
    ['a value that ends with a tab', [...HEAD, ['x', 'a\t']]],
    ['connection', [...HEAD, ['connection', 'close']]],
    ['keep-alive', [...HEAD, ['keep-alive', '5']]],
    ['transfer-encoding', [...HEAD, ['transfer-encoding', 'chunked']]],
    ['upgrade', [...HEAD, ['upgrade', 'h2c']]],
    ['te that is not trailers', [...HEAD, ['te', 'gzip']]],
  ])('is malformed with %s', (_what, fields) => {
    expect(readRequest(fields)).toBeNull();
  });
});

it('an answer has one status, of three digits, and not 101', () => {
  expect(
    readResponse([
      [':status', '204'],
      ['x', 'y'],
    ]),
  ).toEqual({ status: 204, fields: [['x', 'y']] });
  for (const status of ['', '20', '2000', '099', '600', '101', ' 200']) {
    expect(readResponse([[':status', status]])).toBeNull();
  }
  expect(readResponse([])).toBeNull();
  expect(
    readResponse([
      [':status', '200'],
      [':path', '/'],
    ]),
  ).toBeNull();
});

it('trailers have no pseudo headers', () => {
  expect(readTrailers([['grpc-status', '0']])).toEqual([['grpc-status', '0']]);
  expect(readTrailers([[':status', '200']])).toBeNull();
});

it('joins values of one name', () => {
  expect(
    headerValue(
      [
        ['a', '1'],
        ['b', '2'],
        ['a', '3'],
      ],
      'a',
    ),
  ).toBe('1, 3');
  expect(headerValue([], 'a')).toBeUndefined();
});

describe('a header block', () => {
  const limits = { maxListBytes: 1_000, maxFields: 8 };
  const block = encodeHeaders(HEAD);

  it('may come in one piece or in nine', () => {
    const whole = new HeaderAssembly(limits).begin(1, FLAG.endHeaders | FLAG.endStream, block);
    expect(whole).toEqual({ streamId: 1, endStream: true, fields: HEAD });
    const assembly = new HeaderAssembly(limits);
    expect(assembly.begin(3, 0, block.subarray(0, 1))).toBeNull();
    for (let at = 1; at < 8; at += 1) expect(assembly.continue(3, 0, block.subarray(at, at + 1))).toBeNull();
    expect(assembly.isOpen).toBe(true);
    expect(assembly.continue(3, FLAG.endHeaders, block.subarray(8))).toEqual({
      streamId: 3,
      endStream: false,
      fields: HEAD,
    });
    expect(assembly.isOpen).toBe(false);
  });

  it('may not come in ten', () => {
    const assembly = new HeaderAssembly(limits);
    assembly.begin(1, 0, Buffer.alloc(0));
    for (let count = 0; count < 8; count += 1) assembly.continue(1, 0, Buffer.alloc(0));
    const flood = { code: CODE.enhanceYourCalm, violation: 'header-flood' };
    expect(() => assembly.continue(1, 0, Buffer.alloc(0))).toThrow(expect.objectContaining(flood));
  });

  it('is decoded even if nobody wants it, and has no fields if they are too many', () => {
    const assembly = new HeaderAssembly({ maxListBytes: 100, maxFields: 8 });
    const large = encodeHeaders([['x', 'y'.repeat(200)]]);
    expect(assembly.begin(1, FLAG.endHeaders, large)?.fields).toBeNull();
    expect(assembly.begin(3, FLAG.endHeaders, encodeHeaders([['a', 'b']]))?.fields).toEqual([['a', 'b']]);
  });

  it('ends the session if it is no HPACK', () => {
    const broken = (): unknown => new HeaderAssembly(limits).begin(1, FLAG.endHeaders, Buffer.from([0x80]));
    expect(broken).toThrow(expect.objectContaining({ code: CODE.compressionError }));
  });
});
