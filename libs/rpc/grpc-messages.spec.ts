import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GrpcMessageReader, encodeGrpcMessage } from './grpc-messages.js';

describe('gRPC messages', () => {
  it('come out as they went in, however they are cut', () => {
    const bodies = fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 6 });
    fc.assert(
      fc.property(bodies, fc.integer({ min: 1, max: 50 }), (messages, size) => {
        const wire = Buffer.concat(messages.map(encodeGrpcMessage));
        const reader = new GrpcMessageReader(200);
        const read: Buffer[] = [];
        for (let at = 0; at < wire.length; at += size) read.push(...reader.push(wire.subarray(at, at + size)));
        expect(read.map((each) => [...each])).toEqual(messages.map((each) => [...each]));
      }),
    );
  });

  it('that are too large are refused when they are announced', () => {
    const announced = Buffer.from([0, 0, 0, 1, 1]);
    expect(() => new GrpcMessageReader(256).push(announced)).toThrow(
      expect.objectContaining({ code: 'PROTOCOL_ERROR' }),
    );
  });

  it('that are compressed are refused', () => {
    const compressed = Buffer.from([1, 0, 0, 0, 0]);
    expect(() => new GrpcMessageReader(256).push(compressed)).toThrow(
      expect.objectContaining({ code: 'PROTOCOL_ERROR' }),
    );
  });
});
