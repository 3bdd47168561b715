import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pauseMs, type Ended } from './retry-pace.js';

const ended = (what: Partial<Ended>): Ended => ({
  outcome: 'lived',
  attempt: -1,
  degraded: false,
  otherLinks: 0,
  ...what,
});

describe('pauseMs', () => {
  it.each([
    ['a second', 0, 1_000],
    ['two, if they have another link', 1, 2_000],
  ])('spreads a crowd that lost its links over %s', (_, otherLinks, withinMs) => {
    const crowd = Array.from({ length: 1_000 }, (_, place) =>
      pauseMs(ended({ otherLinks }), () => (place + 0.5) / 1_000),
    );
    const tenths = Array.from({ length: 10 }, (_, tenth) =>
      crowd.filter((ms) => Math.floor((ms / withinMs) * 10) === tenth),
    );
    expect(tenths.map(({ length }) => length)).toEqual(Array.from({ length: 10 }, () => 100));
  });

  it('dials soon again after the first failure, and ever more rarely', () => {
    const longest = (attempt: number): number => pauseMs(ended({ outcome: 'failed', attempt }), () => 0.999);
    expect(longest(0)).toBeLessThan(1_000);
    expect([longest(2), longest(4), longest(40)]).toEqual([3_996, 15_984, 19_980]);
  });

  it('waits half a minute at least where only a person can help', () => {
    const outcome = fc.constantFrom('lived', 'same-replica', 'failed', 'refused');
    fc.assert(
      fc.property(outcome, fc.double({ min: 0, max: 0.999, noNaN: true }), (of, random) => {
        const waitMs = pauseMs(ended({ outcome: of, attempt: 0, degraded: of !== 'refused' }), () => random);
        return waitMs >= 30_000 && waitMs < 90_000;
      }),
    );
  });
});
