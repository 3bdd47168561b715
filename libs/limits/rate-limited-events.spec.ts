import { expect, it } from 'vitest';
import { RateLimitedEvents } from './rate-limited-events.js';

it('tells a burst, then some, and then how many it kept; the unauthenticated use up nobody else’s', () => {
  let nowMs = 0;
  const rate = new RateLimitedEvents({ burst: 3, perSecond: 0.1 }, { monotonicMs: () => nowMs });
  expect(Array.from({ length: 10 }, () => rate.take(null))).toEqual([
    0,
    0,
    0,
    ...Array.from({ length: 7 }, () => null),
  ]);
  expect([rate.take('cluster'), rate.take('cluster')]).toEqual([0, 0]);
  nowMs = 10_000;
  expect([rate.take(null), rate.take(null)]).toEqual([7, null]);
  const known = Array.from({ length: 100 }, () => rate.take('other'));
  expect(known.filter((suppressed) => suppressed !== null)).toHaveLength(50);
  expect(rate.take('cluster')).toBe(0);
});
