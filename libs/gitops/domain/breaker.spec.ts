import { describe, expect, it } from 'vitest';
import { CLOSED, holdsRepairs, resetBreaker, stepBreaker, type BreakerLimits } from './breaker.js';

const limits: BreakerLimits = { minClusters: 5, share: 0.2, windowMs: 60_000, holdRepairsMs: 3_600_000 };
const seen = (of: number, fresh: number, now = fresh, code = 'X') => ({ of, problems: [{ code, fresh, now }] });

describe('the breaker', () => {
  it.each([
    [50, 9, 'closed'],
    [50, 10, 'open'],
    [10, 4, 'closed'],
    [10, 5, 'open'],
    [3, 3, 'closed'],
  ] as const)('of %d clusters is, if %d newly fail alike, %s', (of, fresh, state) => {
    expect(stepBreaker(CLOSED, seen(of, fresh), 1, limits).state).toBe(state);
  });

  it('names what they have in common, and since when', () => {
    const open = stepBreaker(CLOSED, seen(50, 12), 1_000, limits);
    expect(open).toMatchObject({ code: 'X', clusters: 12, of: 50, sinceMs: 1_000 });
    const both = { of: 50, problems: [...seen(50, 11).problems, ...seen(50, 13, 13, 'Y').problems] };
    expect(stepBreaker(CLOSED, both, 1, limits).code).toBe('Y');
  });

  it('does not add up what fails differently', () => {
    const each = ['A', 'B', 'C'].flatMap((code) => seen(50, 6, 6, code).problems);
    expect(stepBreaker(CLOSED, { of: 50, problems: each }, 1, limits).state).toBe('closed');
  });

  it('closes when they have recovered, well below where it opened', () => {
    const open = stepBreaker(CLOSED, seen(50, 12), 1, limits);
    expect(stepBreaker(open, seen(50, 0, 6), 2, limits).state).toBe('open');
    expect(stepBreaker(open, seen(50, 0, 5), 2, limits)).toEqual(resetBreaker(2));
    expect(stepBreaker(open, { of: 50, problems: [] }, 2, limits).state).toBe('closed');
  });

  it('holds repairs for a bounded time', () => {
    const open = stepBreaker(CLOSED, seen(50, 12), 1_000, limits);
    expect(holdsRepairs(open, 1_000, limits)).toBe(true);
    expect(holdsRepairs(open, 3_601_000, limits)).toBe(false);
    expect(holdsRepairs(CLOSED, 1_000, limits)).toBe(false);
  });
});
