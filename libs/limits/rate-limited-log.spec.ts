import { expect, it } from 'vitest';
import { RateLimitedLog, type LogCause } from './rate-limited-log.js';

const written = (lines: RateLimitedLog, cause: LogCause, count: number): number =>
  Array.from({ length: count }, () => lines.next(cause)).filter((line) => line !== null).length;

it('writes so many lines of one cause, and then says with the next how many it left out', () => {
  let nowMs = 0;
  const lines = new RateLimitedLog({ monotonicMs: () => nowMs });
  const hostile = { address: '192.0.2.1' };
  expect(written(lines, hostile, 1_000)).toBe(100);
  nowMs += 500;
  expect(lines.next(hostile)).toEqual({ suppressed: 900 });
  expect(lines.next(hostile)).toBeNull();
});

it('keeps causes apart: a flood of one takes no line of another', () => {
  const lines = new RateLimitedLog({ monotonicMs: () => 0 });
  for (const cause of [
    { address: '2001:db8::1' },
    { address: '2001:db8::1', user: 'a' },
    { address: '2001:db8::1', clusterId: 'a' },
  ]) {
    expect(written(lines, cause, 200)).toBe(100);
  }
  // The same /64.
  expect(lines.next({ address: '2001:db8::2' })).toBeNull();
  expect(lines.next({ address: '2001:db8:0:1::2' })).toEqual({});
  expect(lines.nextOf('user a')).toBeNull();
  expect(lines.nextOf('b')).toEqual({});
});

it('bounds what many networks cause together, counts it, and leaves who proved itself out of it', () => {
  let nowMs = 0;
  const lines = new RateLimitedLog({ monotonicMs: () => nowMs });
  const flood = (): number => {
    let count = 0;
    // More than are remembered: none has a burst of its own again.
    for (let network = 0; network < 12_000; network += 1) {
      count += written(lines, { address: `2001:db8:${network.toString(16)}::1` }, 1);
    }
    return count;
  };
  expect(flood()).toBe(1_000);
  expect(flood()).toBe(0);
  expect(lines.next({ address: '192.0.2.1', user: 'a' })).toEqual({});
  nowMs += 1_000;
  expect(lines.next({ address: '198.51.100.1' })).toEqual({ suppressed: 23_000 });
  expect(flood()).toBe(19);
});
