import { expect, it } from 'vitest';
import { KeyedRateLimit } from './keyed-rate-limit.js';

it('counts each key apart, and refills it', () => {
  const buckets = new KeyedRateLimit({ burst: 2, perSecond: 0.5 });
  expect([0, 0, 0].map((at) => buckets.take('a', at))).toEqual([true, true, false]);
  expect(buckets.take('b', 0)).toBe(true);
  expect(buckets.waitMs('a', 0)).toBe(2_000);
  expect([buckets.take('a', 1_999), buckets.take('a', 2_000)]).toEqual([false, true]);
});

it('forgets the key that was used longest ago', () => {
  const buckets = new KeyedRateLimit({ burst: 1, perSecond: 0.001 }, 2);
  for (const key of ['a', 'b', 'a', 'c']) buckets.take(key, 0);
  expect(buckets.size).toBe(2);
  expect([buckets.take('a', 0), buckets.take('b', 0)]).toEqual([false, true]);
});
