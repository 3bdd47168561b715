import { describe, expect, it } from 'vitest';
import { CLOSE_CODES, FramePosition, closeFrame } from './websocket-frames.js';

/** A server's, or with a mask a client's. */
function frame(length: number, { masked = false } = {}): Buffer {
  const size = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const head = Buffer.alloc(2 + size + (masked ? 4 : 0));
  head[0] = 0x82;
  head[1] = (masked ? 0x80 : 0) | (size === 0 ? length : size === 2 ? 126 : 127);
  if (size > 0) head.writeUIntBE(length, 2 + Math.max(0, size - 6), Math.min(size, 6));
  // What a payload holds is nothing to anybody here.
  return Buffer.concat([head, Buffer.alloc(length, 0xff)]);
}

describe('the position in a WebSocket', () => {
  it.each([0, 1, 125, 126, 65_535, 65_536, 200_000])(
    'is between frames after one of %i bytes, and not within it',
    (length) => {
      for (const masked of [false, true]) {
        const bytes = frame(length, { masked });
        const position = new FramePosition();
        expect(position.isBetween).toBe(true);
        position.push(bytes.subarray(0, -1));
        expect(position.isBetween).toBe(false);
        position.push(bytes.subarray(-1));
        expect(position.isBetween).toBe(true);
      }
    },
  );

  it('is the same however the bytes come', () => {
    const all = Buffer.concat([frame(3), frame(300), frame(0), frame(70_000, { masked: true }), frame(5)]);
    for (const step of [1, 2, 3, 7, 1_000, all.length]) {
      const position = new FramePosition();
      for (let at = 0; at < all.length; at += step) position.push(all.subarray(at, at + step));
      expect(position.isBetween).toBe(true);
      position.push(Buffer.of(0x81));
      expect(position.isBetween).toBe(false);
    }
  });

  it('is never between frames again after one without end', () => {
    const position = new FramePosition();
    position.push(Buffer.of(0x82, 127, 255, 255, 255, 255, 255, 255, 255, 255));
    position.push(Buffer.alloc(1_000_000));
    expect(position.isBetween).toBe(false);
  });
});

describe('a frame that closes', () => {
  it('is one frame with a code and a reason', () => {
    const bytes = closeFrame(CLOSE_CODES.goingAway, 'it stops');
    expect(bytes).toEqual(Buffer.concat([Buffer.of(0x88, 10, 0x03, 0xe9), Buffer.from('it stops')]));
    const position = new FramePosition();
    position.push(bytes);
    expect(position.isBetween).toBe(true);
  });

  it('is as long as a control frame may be, and cut between characters', () => {
    for (const character of ['x', 'ö', '€', '😀']) {
      const bytes = closeFrame(CLOSE_CODES.policyViolation, character.repeat(200));
      expect(bytes.length).toBeLessThanOrEqual(127);
      expect(bytes.length).toBeGreaterThan(123);
      expect(new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(4))).toMatch(
        new RegExp(`^${character}+$`, 'u'),
      );
    }
  });
});
