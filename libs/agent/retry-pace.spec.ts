import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FairleadError } from '@fairlead/errors';
import { SlotPace, Tries, outcomeOf, pauseMs, type Ended, type LinkOutcome } from './retry-pace.js';

const ended = (what: Partial<Ended>): Ended => ({
  outcome: 'lived',
  before: 0,
  degraded: false,
  otherLinks: 0,
  crowd: 0,
  ...what,
});

const longest = (what: Partial<Ended>): number => Math.round(pauseMs(ended(what), () => 0.999_999));

describe('outcomeOf', () => {
  const unreachable = (code: string): FairleadError =>
    new FairleadError('UNAVAILABLE', 'cannot reach it', { cause: Object.assign(new Error(code), { code }) });

  it('tells a refused connection from one that failed otherwise, and both from a refusal', () => {
    expect(outcomeOf(unreachable('ECONNREFUSED'))).toBe('nobody-listens');
    expect(outcomeOf(unreachable('ECONNRESET'))).toBe('failed');
    expect(outcomeOf(new FairleadError('UNAVAILABLE', 'no snapshot'))).toBe('failed');
    expect(outcomeOf(new FairleadError('CERTIFICATE_REFUSED', 'deleted'))).toBe('refused');
  });
});

describe('Tries', () => {
  it('counts each way to fail by itself, until a link stands, and brief links until one lives', () => {
    const tries = new Tries();
    const counted = (...outcomes: LinkOutcome[]): number[] => outcomes.map((outcome) => tries.count(outcome));
    expect(counted('failed', 'nobody-listens', 'failed', 'nobody-listens')).toEqual([0, 0, 1, 1]);
    expect(counted('brief', 'failed', 'brief', 'nobody-listens', 'brief')).toEqual([0, 0, 1, 0, 2]);
    expect(counted('lived', 'brief', 'failed')).toEqual([0, 0, 0]);
  });
});

describe('SlotPace', () => {
  const links = { otherLinks: 1, crowd: 10 };

  it('is degraded once six dials in a row reached the same replica, until one does not, or there is another to reach', () => {
    const pace = new SlotPace();
    for (let dial = 1; dial <= 6; dial += 1) {
      expect(pace.degraded).toBe(false);
      expect(pace.ended('same-replica', links)).toBeLessThan(dial < 6 ? 20_000 : 90_000);
    }
    expect([pace.degraded, pace.attempt]).toEqual([true, 6]);
    expect(pace.anew(10, () => 0.999_999)).toBeCloseTo(100, 0);
    expect(pace.degraded).toBe(false);
    expect(pace.ended('same-replica', links)).toBeLessThan(1_000);
    for (let dial = 2; dial <= 6; dial += 1) pace.ended('same-replica', links);
    expect(pace.degraded).toBe(true);
    pace.linked();
    expect(pace.degraded).toBe(false);
    pace.ended('lived', links);
    expect([pace.degraded, pace.attempt]).toEqual([false, 0]);
  });
});

describe('pauseMs', () => {
  it.each([
    ['a second, if its replica did not say how large it is', { otherLinks: 0 }, 1_000],
    ['two, if they have another link', { otherLinks: 1 }, 2_000],
    ['10 ms for each of them', { crowd: 100 }, 1_000],
    ['10 ms for each of them, also with another link', { crowd: 100, otherLinks: 1 }, 1_000],
    ['50 ms at least', { crowd: 1 }, 50],
    ['5 s at most', { crowd: 2_000 }, 5_000],
    ['5 s at most, whatever a replica says', { crowd: 0xffff_ffff }, 5_000],
  ])('spreads a crowd that lost its links over %s', (_, what, withinMs) => {
    const crowd = Array.from({ length: 1_000 }, (_, place) => pauseMs(ended(what), () => (place + 0.5) / 1_000));
    const tenths = Array.from({ length: 10 }, (_, tenth) =>
      crowd.filter((ms) => Math.floor((ms / withinMs) * 10) === tenth),
    );
    expect(tenths.map(({ length }) => length)).toEqual(Array.from({ length: 10 }, () => 100));
  });

  it('does not let a replica that ends link after link be dialled ever again at once', () => {
    const waits = [0, 7, 8, 100].map((before) => longest({ outcome: 'brief', before, crowd: 1 }));
    expect(waits).toEqual([50, 50, 1_000, 1_000]);
    expect(longest({ outcome: 'brief', before: 8, crowd: 1_000 })).toBe(5_000);
  });

  it('dials soon again after the first failure, and ever more rarely', () => {
    const failed = (before: number): number => longest({ outcome: 'failed', before, crowd: 1 });
    expect(failed(0)).toBeLessThan(1_000);
    expect([failed(2), failed(4), failed(40)]).toEqual([3_999, 15_999, 19_999]);
  });

  it('dials sooner where nobody listens: a process starts again in less than a second', () => {
    const tries = (crowd: number): number[] =>
      [0, 1, 2, 40].map((before) => longest({ outcome: 'nobody-listens', before, crowd }));
    expect(tries(1)).toEqual([100, 125, 156, 20_000]);
    expect(tries(100)).toEqual([2_000, 2_500, 3_125, 20_000]);
    expect(tries(2_000)).toEqual([10_000, 12_500, 15_625, 20_000]);
    expect(tries(0)).toEqual([0, 1, 2, 40].map((before) => longest({ outcome: 'failed', before })));
  });

  it('waits half a minute at least where only a person can help', () => {
    const outcome = fc.constantFrom('lived', 'same-replica', 'failed', 'nobody-listens', 'refused');
    fc.assert(
      fc.property(outcome, fc.double({ min: 0, max: 0.999, noNaN: true }), fc.nat(), (of, random, crowd) => {
        const waitMs = pauseMs(ended({ outcome: of, crowd, degraded: of !== 'refused' }), () => random);
        return waitMs >= 30_000 && waitMs < 90_000;
      }),
    );
  });
});
