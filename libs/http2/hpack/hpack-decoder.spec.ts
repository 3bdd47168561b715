import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeHeaders, HpackDecoder, HpackError, type HeaderField } from './index.js';

const limits = { maxListBytes: 65_536, maxFields: 1_000 };

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

const fieldsOf = (decoder: HpackDecoder, block: Buffer): readonly HeaderField[] => {
  const decoded = decoder.decode(block);
  if (decoded.kind !== 'fields') throw new Error(decoded.kind);
  return decoded.fields;
};

/** A literal with both strings plain. The first byte tells the kind; names and values below 127 bytes. */
const literal = (first: number, name: string, value: string): Buffer =>
  Buffer.concat([Buffer.of(first, name.length), Buffer.from(name), Buffer.of(value.length), Buffer.from(value)]);

const [WITHOUT, NEVER, INCREMENTAL] = [0x00, 0x10, 0x40];

describe('the examples of RFC 7541 appendix C', () => {
  it.each<[string, string, HeaderField]>([
    ['C.2.1', '400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572', ['custom-key', 'custom-header']],
    ['C.2.2', '040c 2f73 616d 706c 652f 7061 7468', [':path', '/sample/path']],
    ['C.2.3', '1008 7061 7373 776f 7264 0673 6563 7265 74', ['password', 'secret']],
    ['C.2.4', '82', [':method', 'GET']],
  ])('%s', (_, block, field) => {
    expect(fieldsOf(new HpackDecoder(limits), hex(block))).toEqual([field]);
  });

  const requests: HeaderField[][] = [
    [
      [':method', 'GET'],
      [':scheme', 'http'],
      [':path', '/'],
      [':authority', 'www.example.com'],
    ],
    [
      [':method', 'GET'],
      [':scheme', 'http'],
      [':path', '/'],
      [':authority', 'www.example.com'],
      ['cache-control', 'no-cache'],
    ],
    [
      [':method', 'GET'],
      [':scheme', 'https'],
      [':path', '/index.html'],
      [':authority', 'www.example.com'],
      ['custom-key', 'custom-value'],
    ],
  ];
  const cookie = 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1';
  const responses: HeaderField[][] = [
    [
      [':status', '302'],
      ['cache-control', 'private'],
      ['date', 'Mon, 21 Oct 2013 20:13:21 GMT'],
      ['location', 'https://www.example.com'],
    ],
    [
      [':status', '307'],
      ['cache-control', 'private'],
      ['date', 'Mon, 21 Oct 2013 20:13:21 GMT'],
      ['location', 'https://www.example.com'],
    ],
    [
      [':status', '200'],
      ['cache-control', 'private'],
      ['date', 'Mon, 21 Oct 2013 20:13:22 GMT'],
      ['location', 'https://www.example.com'],
      ['content-encoding', 'gzip'],
      ['set-cookie', cookie],
    ],
  ];

  it.each([
    [
      'C.3, requests',
      4096,
      requests,
      [
        '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
        '8286 84be 5808 6e6f 2d63 6163 6865',
        '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
      ],
    ],
    [
      'C.4, requests with Huffman coding',
      4096,
      requests,
      [
        '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
        '8286 84be 5886 a8eb 1064 9cbf',
        '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
      ],
    ],
    [
      'C.5, responses, with eviction',
      256,
      responses,
      [
        '4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133' +
          '2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
        '4803 3330 37c1 c0bf',
        '88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d' +
          '54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049' +
          '5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31',
      ],
    ],
    [
      'C.6, responses with Huffman coding, with eviction',
      256,
      responses,
      [
        '4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6' +
          '2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3',
        '4883 640e ffc1 c0bf',
        '88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab' +
          '77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f' +
          '9587 3160 65c0 03ed 4ee5 b106 3d50 07',
      ],
    ],
  ] as const)('%s', (_, tableBytes, lists, blocks) => {
    const decoder = new HpackDecoder(limits, tableBytes);
    expect(blocks.map((block) => fieldsOf(decoder, hex(block)))).toEqual(lists);
  });
});

describe('the dynamic table', () => {
  const a = literal(INCREMENTAL, 'a', '1');
  const b = literal(INCREMENTAL, 'b', '2');

  it('takes only literals with incremental indexing', () => {
    const decoder = new HpackDecoder(limits);
    decoder.decode(Buffer.concat([a, literal(WITHOUT, 'c', '3'), literal(NEVER, 'd', '4')]));
    expect(fieldsOf(decoder, Buffer.of(0x80 | 62))).toEqual([['a', '1']]);
    expect(() => decoder.decode(Buffer.of(0x80 | 63))).toThrow(HpackError);
  });

  it('gives a name to a field that evicts it', () => {
    const decoder = new HpackDecoder(limits, 34);
    decoder.decode(a);
    expect(fieldsOf(decoder, hex('7e 01 32 be'))).toEqual([
      ['a', '2'],
      ['a', '2'],
    ]);
  });

  it('shrinks and grows as the peer says, within the limit', () => {
    const decoder = new HpackDecoder(limits, 100);
    decoder.decode(Buffer.concat([a, b]));
    // To 34 bytes, which is one entry, then to 100.
    expect(fieldsOf(decoder, hex('3f 03 3f 45 be'))).toEqual([['b', '2']]);
    expect(() => decoder.decode(Buffer.of(0x80 | 63))).toThrow(HpackError);
  });

  it('can be emptied and switched off', () => {
    const decoder = new HpackDecoder(limits);
    expect(fieldsOf(decoder, Buffer.concat([Buffer.of(0x20), a, b]))).toEqual([
      ['a', '1'],
      ['b', '2'],
    ]);
    expect(() => decoder.decode(Buffer.of(0x80 | 62))).toThrow(HpackError);
  });

  it('starts with 4096 bytes, though it may grow beyond', () => {
    const decoder = new HpackDecoder(limits, 8192);
    // 4097 bytes with name, value and 32.
    const large = Buffer.concat([hex('40 01 61 7f e1 1e'), Buffer.alloc(4064, 'v')]);
    expect(fieldsOf(decoder, large)[0]?.[1]).toHaveLength(4064);
    expect(() => decoder.decode(Buffer.of(0x80 | 62))).toThrow(HpackError);
    const grown = new HpackDecoder(limits, 8192);
    grown.decode(Buffer.concat([hex('3f e1 3f'), large]));
    expect(fieldsOf(grown, Buffer.of(0x80 | 62))[0]?.[1]).toHaveLength(4064);
  });
});

describe('a malformed block', () => {
  it.each([
    ['index 0', '80'],
    ['an index beyond the static table while the other is empty', 'be'],
    ['an index far beyond the tables', 'ff ff ff ff 07'],
    ['a name index beyond the tables', '7e 01 61'],
    ['a truncated index', 'ff'],
    ['a truncated integer', 'ff 80 80'],
    ['an integer beyond 2^31', 'ff ff ff ff ff 0f'],
    ['an integer of six further bytes', 'ff 80 80 80 80 80 00'],
    ['a literal without its name', '00'],
    ['a literal without its value', '00 01 61'],
    ['a literal with a static name without its value', '04'],
    ['a truncated name', '00 02 61'],
    ['a truncated value', '00 01 61 03 62 63'],
    ['a string of 2^31 bytes', '00 7f 81 ff ff ff 07'],
    ['a Huffman string with a padding of eight bits', '00 01 61 81 ff'],
    ['a Huffman string with a padding of zeros', '00 01 61 81 18'],
    ['a Huffman string with EOS', '00 01 61 84 ff ff ff ff'],
    ['a truncated Huffman string', '00 01 61 82 1f'],
    ['a table size above the limit', '3f e2 1f'],
    ['a truncated table size', '3f'],
    ['three table size updates', '20 20 20'],
    ['a table size update after a field', '82 20'],
    ['a table size update after a field, and then a field', '82 20 82'],
    ['a table size update that would pass for a literal', '82 20 01 61 01 62'],
    ['a table size update after a literal', '00 01 61 01 62 3f 00'],
  ])('is refused: %s', (_, block) => {
    const decoder = new HpackDecoder(limits);
    expect(() => decoder.decode(hex(block))).toThrow(HpackError);
    // What is too large to keep is checked all the same.
    expect(() => new HpackDecoder({ maxListBytes: 0, maxFields: 0 }).decode(hex(block))).toThrow(HpackError);
  });

  it.each([
    ['an empty block', ''],
    ['two table size updates and nothing else', '20 3f e1 1f'],
    ['a name index with zeros that need not be', '0f 80 80 80 80 00 00'],
  ])('is none of these: %s', (_, block) => {
    expect(new HpackDecoder(limits).decode(hex(block)).kind).toBe('fields');
  });
});

describe('the limits', () => {
  const fields = (count: number): Buffer =>
    Buffer.concat(Array.from({ length: count }, () => literal(WITHOUT, 'ab', 'cd')));

  it('are the sum of name, value and 32 bytes, and the number of fields', () => {
    const kind = (maxListBytes: number, maxFields: number, count: number): string =>
      new HpackDecoder({ maxListBytes, maxFields }).decode(fields(count)).kind;
    expect(kind(108, 3, 3)).toBe('fields');
    expect(kind(107, 3, 3)).toBe('too-large');
    expect(kind(108, 2, 3)).toBe('too-large');
    expect(kind(0, 0, 0)).toBe('fields');
  });

  it('hold for one string longer than any', () => {
    const small = { maxListBytes: 100, maxFields: 10 };
    const long = Buffer.concat([hex('7f a0 03'), Buffer.alloc(543, 'x')]);
    for (const first of [WITHOUT, NEVER, INCREMENTAL]) {
      const asName = Buffer.concat([Buffer.of(first), long, hex('01 61')]);
      const asValue = Buffer.concat([Buffer.of(first), hex('01 61'), long]);
      expect(new HpackDecoder(small, 0).decode(asName)).toEqual({ kind: 'too-large' });
      expect(new HpackDecoder(small, 0).decode(asValue)).toEqual({ kind: 'too-large' });
    }
  });

  it.each([
    ['maxListBytes', { maxListBytes: 35, maxFields: 10 }],
    ['maxFields', { maxListBytes: 1000, maxFields: 1 }],
  ])('leave the table as the peer has it, beyond %s', (_, small) => {
    const decoder = new HpackDecoder(small);
    const block = Buffer.concat([literal(INCREMENTAL, 'a', '1'), fields(2), literal(INCREMENTAL, 'b', '2')]);
    expect(decoder.decode(block)).toEqual({ kind: 'too-large' });
    expect(fieldsOf(decoder, Buffer.of(0x80 | 62))).toEqual([['b', '2']]);
    expect(fieldsOf(decoder, Buffer.of(0x80 | 63))).toEqual([['a', '1']]);
  });

  it('let a field into the list that the table cannot hold, and empty the table', () => {
    const decoder = new HpackDecoder(limits, 40);
    decoder.decode(literal(INCREMENTAL, 'a', '1'));
    expect(fieldsOf(decoder, literal(INCREMENTAL, 'long', 'value'))).toEqual([['long', 'value']]);
    expect(() => decoder.decode(Buffer.of(0x80 | 62))).toThrow(HpackError);
  });

  it('empty the table for a field that neither can hold', () => {
    const decoder = new HpackDecoder({ maxListBytes: 36, maxFields: 10 }, 40);
    decoder.decode(literal(INCREMENTAL, 'a', '1'));
    expect(decoder.decode(literal(INCREMENTAL, 'longer', 'value')).kind).toBe('too-large');
    expect(() => decoder.decode(Buffer.of(0x80 | 62))).toThrow(HpackError);
  });
});

describe('a header bomb', () => {
  const entry = Buffer.concat([hex('40 01 61 7f d8 1e'), Buffer.alloc(4055, 'v')]);

  it('repeats one field and never copies it', () => {
    const decoder = new HpackDecoder(limits);
    decoder.decode(entry);
    const fields = fieldsOf(decoder, Buffer.alloc(16, 0x80 | 62));
    expect(fields).toHaveLength(16);
    expect(new Set(fields).size).toBe(1);
  });

  it('costs the walk over its bytes and leaves nothing', () => {
    const decoder = new HpackDecoder(limits);
    decoder.decode(entry);
    const bomb = Buffer.alloc(1_000_000, 0x80 | 62);
    const before = process.cpuUsage();
    expect(decoder.decode(bomb)).toEqual({ kind: 'too-large' });
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(1_000);
  });
});

describe('any bytes', () => {
  const returnsOrRefuses = (decoder: HpackDecoder, block: Uint8Array): void => {
    try {
      const decoded = decoder.decode(Buffer.from(block));
      if (decoded.kind === 'fields') expect(decoded.fields.length).toBeLessThanOrEqual(20);
    } catch (error) {
      if (!(error instanceof HpackError)) throw error;
    }
  };

  it('are decoded or refused with HpackError', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 200, size: 'max' }), { maxLength: 5 }), (blocks) => {
        const decoder = new HpackDecoder({ maxListBytes: 500, maxFields: 20 }, 200);
        for (const block of blocks) returnsOrRefuses(decoder, block);
      }),
      { numRuns: 2_000 },
    );
  });

  it('are so too when they begin well', () => {
    const good = hex('8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf be');
    fc.assert(
      fc.property(fc.nat(good.length - 1), fc.nat(255), fc.nat(good.length), (at, byte, end) => {
        const block = Buffer.from(good);
        block[at] = byte;
        returnsOrRefuses(new HpackDecoder({ maxListBytes: 500, maxFields: 20 }), block.subarray(0, end));
      }),
      { numRuns: 2_000 },
    );
  });
});

it('decodes what the encoder wrote', () => {
  const latin1 = fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes).toString('latin1'));
  fc.assert(
    fc.property(fc.array(fc.tuple(latin1, latin1)), (fields) => {
      expect(fieldsOf(new HpackDecoder(limits), encodeHeaders(fields))).toEqual(fields);
    }),
  );
});
