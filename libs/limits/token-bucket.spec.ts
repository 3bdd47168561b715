import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TokenBucket } from './token-bucket.js';

describe('a token bucket', () => {
  it('gives its burst, then as much as flows in', () => {
    const bucket = new TokenBucket({ burst: 3, perSecond: 10 }, 0);
    expect([1, 2, 3, 4].map(() => bucket.take(0))).toEqual([true, true, true, false]);
    expect(bucket.waitMs(0)).toBe(100);
    expect(bucket.take(99)).toBe(false);
    expect(bucket.take(100)).toBe(true);
    expect(bucket.isFull(350)).toBe(false);
    expect(bucket.isFull(450)).toBe(true);
  });

  it('never gives more than burst and rate allow, whatever the clock does', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -500, max: 2_000 }), { maxLength: 100 }), (steps) => {
        const bucket = new TokenBucket({ burst: 5, perSecond: 2 }, 0);
        let nowMs = 0;
        let latestMs = 0;
        let given = 0;
        for (const step of steps) {
          nowMs += step;
          latestMs = Math.max(latestMs, nowMs);
          if (bucket.take(nowMs)) given += 1;
          expect(given).toBeLessThanOrEqual(5 + (latestMs / 1_000) * 2 + 1e-6);
        }
      }),
    );
  });
});
