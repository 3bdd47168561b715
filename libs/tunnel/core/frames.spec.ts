import { create, toBinary } from '@bufbuild/protobuf';
import { FrameSchema } from '@fairlead/proto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameDecoder } from './frame-decoder.js';
import { encodeControl, encodeDataHeader, type ControlKind } from './frame-encoder.js';
import { LIMITS } from './limits.js';

type Item = { data: Buffer } | { control: ControlKind };

const text = fc.string({ maxLength: 40 });
const control: fc.Arbitrary<ControlKind> = fc.oneof(
  fc.constant<ControlKind>({ case: 'opened', value: { $typeName: 'fairlead.link.v1.Opened' } }),
  fc.constant<ControlKind>({ case: 'eof', value: { $typeName: 'fairlead.link.v1.Eof' } }),
  fc.tuple(text, text).map(([code, message]): ControlKind => ({
    case: 'refused',
    value: { $typeName: 'fairlead.link.v1.Refused', code, message },
  })),
  fc.tuple(text, text).map(([code, message]): ControlKind => ({
    case: 'reset',
    value: { $typeName: 'fairlead.link.v1.Reset', code, message },
  })),
  fc.tuple(text, fc.nat(), fc.array(text, { maxLength: 5 })).map(([user, generation, groups]): ControlKind => ({
    case: 'open',
    value: {
      $typeName: 'fairlead.link.v1.Open',
      tunnelId: 't',
      tenantId: 'default',
      clusterId: 'c',
      generation,
      traceparent: '',
      target: {
        case: 'kubeApi',
        value: { $typeName: 'fairlead.link.v1.KubeApi', user, groups, extra: [], statement: new Uint8Array() },
      },
    },
  })),
);
const item: fc.Arbitrary<Item> = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 400 }).map((bytes) => ({ data: Buffer.from(bytes) })),
  control.map((kind) => ({ control: kind })),
);

function encode(item: Item): Buffer {
  return 'data' in item ? Buffer.concat([encodeDataHeader(item.data.length), item.data]) : encodeControl(item.control);
}

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0, i = 0; at < bytes.length; i += 1) {
    const size = sizes[i % sizes.length] ?? 1;
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

/** Everything the decoder emits for these chunks, payload of neighbouring pieces joined. */
function decode(chunks: readonly Buffer[]): { items: Item[]; atBoundary: boolean } {
  const decoder = new FrameDecoder();
  const items: Item[] = [];
  for (const chunk of chunks) {
    decoder.push(chunk, {
      onData: (piece) => {
        expect(piece.length).toBeGreaterThan(0);
        const last = items.at(-1);
        if (last && 'data' in last) last.data = Buffer.concat([last.data, piece]);
        else items.push({ data: Buffer.from(piece) });
      },
      onControl: (kind) => items.push({ control: kind }),
    });
  }
  return { items, atBoundary: decoder.atBoundary };
}

function joined(items: readonly Item[]): Item[] {
  const result: Item[] = [];
  for (const next of items) {
    const last = result.at(-1);
    if ('data' in next && last && 'data' in last) last.data = Buffer.concat([last.data, next.data]);
    else result.push({ ...next });
  }
  return result;
}

function wrap(body: Uint8Array, length = body.length): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, body]);
}

/** How many payload bytes came out of these chunks, and the code of what ended it. */
function survey(chunks: readonly Buffer[]): { emitted: number; failure: string | undefined } {
  const decoder = new FrameDecoder();
  let emitted = 0;
  try {
    for (const chunk of chunks) {
      decoder.push(chunk, { onData: (piece) => (emitted += piece.length), onControl: () => undefined });
    }
    return { emitted, failure: undefined };
  } catch (error) {
    return { emitted, failure: (error as { code?: string }).code ?? String(error) };
  }
}

describe('frames', () => {
  it('come out as they went in, however the bytes are cut', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(fc.array(item, { maxLength: 12 }), sizes, (items, sizes) => {
        const decoded = decode(cut(Buffer.concat(items.map(encode)), sizes));
        expect(decoded).toEqual({ items: joined(items), atBoundary: true });
      }),
    );
  });

  it('are what a stock protobuf library writes for the same message', () => {
    for (const length of [0, 1, 127, 128, 16_383, 16_384, 65_536, 2_097_152]) {
      const data = Buffer.alloc(length, 7);
      const stock = wrap(toBinary(FrameSchema, create(FrameSchema, { kind: { case: 'data', value: data } })));
      expect(Buffer.concat([encodeDataHeader(length), data]).equals(stock)).toBe(true);
    }
  });

  it('that are cut short leave the decoder inside a message', () => {
    fc.assert(
      fc.property(item, fc.nat(), (item, at) => {
        const bytes = encode(item);
        const kept = at % bytes.length;
        expect(decode([bytes.subarray(0, kept)]).atBoundary).toBe(kept === 0);
      }),
    );
  });
});

describe('a control frame in small pieces', () => {
  const messageBytes = LIMITS.controlFrameBytes;
  const sink = { onData: () => undefined, onControl: () => undefined };
  const halfRefused = Buffer.concat([wrap(Buffer.alloc(0), messageBytes), Buffer.from([0x1a])]);
  /** Heap and Buffers. Of many decoders, so that what the runner itself does is little beside it. */
  const usedBytes = (): number => {
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };

  it('costs little more than its bytes while it is unfinished', () => {
    const decoders = Array.from({ length: 20 }, () => new FrameDecoder());
    const before = usedBytes();
    for (const decoder of decoders) {
      decoder.push(halfRefused, sink);
      for (let sent = 2; sent < messageBytes; sent += 1) decoder.push(Buffer.from([0]), sink);
    }
    const eachBytes = (usedBytes() - before) / decoders.length;
    expect(decoders.every(({ atBoundary }) => !atBoundary)).toBe(true);
    // Garbage of the loop counts, too, as nothing here makes the runtime collect it; held piece by piece it was 27 MiB.
    expect(eachBytes).toBeLessThan(4 * 1024 * 1024);
  });

  it('costs nothing for what it only announces', () => {
    const decoders = Array.from({ length: 1_000 }, () => new FrameDecoder());
    const before = process.memoryUsage().arrayBuffers;
    for (const decoder of decoders) decoder.push(halfRefused, sink);
    expect((process.memoryUsage().arrayBuffers - before) / decoders.length).toBeLessThan(4 * 1024);
  });

  it('of every size comes out whole, whatever the pieces', () => {
    for (const length of [0, 240, 250, 256, 5_000, messageBytes - 100]) {
      const kind: ControlKind = {
        case: 'refused',
        value: { $typeName: 'fairlead.link.v1.Refused', code: 'X', message: 'é'.repeat(length / 2) },
      };
      for (const size of [1, 255, 4_096]) {
        expect(decode(cut(encodeControl(kind), [size]))).toEqual({ items: [{ control: kind }], atBoundary: true });
      }
    }
  });
});

describe('garbage', () => {
  it('never hangs, never yields more bytes than came, and fails only with PROTOCOL_ERROR', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 64 }), { minLength: 1 });
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2_000 }), sizes, (bytes, sizes) => {
        const { emitted, failure } = survey(cut(Buffer.from(bytes), sizes));
        expect(emitted).toBeLessThanOrEqual(bytes.length);
        expect([undefined, 'PROTOCOL_ERROR']).toContain(failure);
      }),
      { numRuns: 500 },
    );
  });

  it('behind a plausible prefix does no better', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 200 }), (body) => {
        const { emitted, failure } = survey([wrap(body)]);
        expect(emitted).toBeLessThan(body.length);
        expect([undefined, 'PROTOCOL_ERROR']).toContain(failure);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['a compressed message', Buffer.from([1, 0, 0, 0, 1, 0x2a])],
    ['an empty message', Buffer.from([0, 0, 0, 0, 0])],
    ['a control frame above the limit', wrap(Buffer.from([0x12]), LIMITS.controlFrameBytes + 1)],
    ['a data length of more than 32 bits', wrap(Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 1]))],
    [
      'data without data again and again',
      Buffer.concat(Array.from({ length: 101 }, () => wrap(Buffer.from([0x0a, 0])))),
    ],
    ['something after the data', wrap(Buffer.from([0x0a, 1, 7, 0x2a, 0]))],
    ['data that claims more than its message', wrap(Buffer.from([0x0a, 9, 7]))],
    ['a kind before the data', wrap(Buffer.from([0x2a, 0, 0x0a, 1, 7]))],
    ['an unknown kind', wrap(Buffer.from([0x7a, 0]))],
    ['something that is not protobuf', wrap(Buffer.from([0x12, 0x7f]))],
  ])('is refused: %s', (_, bytes) => {
    expect(() => decode([bytes])).toThrow(expect.objectContaining({ code: 'PROTOCOL_ERROR' }));
  });

  it('is refused before its bytes are held: the length of a control frame counts, not its arrival', () => {
    const decoder = new FrameDecoder();
    const sink = { onData: () => undefined, onControl: () => undefined };
    const bytes = wrap(Buffer.from([0x12]), 0xffff_ffff);
    expect(() => decoder.push(bytes, sink)).toThrow(expect.objectContaining({ code: 'PROTOCOL_ERROR' }));
  });
});
