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

  it('cost what they are, not that for each piece they come in', () => {
    const body = Buffer.alloc(1024 * 1024, 'x');
    const wire = encodeGrpcMessage(body);
    const reader = new GrpcMessageReader(body.length);
    const read: Buffer[] = [];
    // Copied whole for each byte, this would be half a terabyte.
    for (let at = 0; at < wire.length; at += 1) read.push(...reader.push(wire.subarray(at, at + 1)));
    expect(read.map((each) => each.equals(body))).toEqual([true]);
    expect(reader.atBoundary).toBe(true);
  });

  it('that were cut off are noticed', () => {
    const reader = new GrpcMessageReader(10);
    expect(reader.push(encodeGrpcMessage(Buffer.from('whole')))).toHaveLength(1);
    expect(reader.atBoundary).toBe(true);
    expect(reader.push(Buffer.from([0, 0, 0, 0, 5, 1]))).toEqual([]);
    expect(reader.atBoundary).toBe(false);
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
