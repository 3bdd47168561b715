import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LADDER_LIMITS, LadderState, STILL, type Finding, type Observation } from './ladder-state.js';
import { step, type LadderStep } from './ladder.js';

const HOUR_MS = 3_600_000;
const workloads: Finding = { layer: 'workloads', code: 'WORKLOAD_UNAVAILABLE', message: 'it is not', workloads: ['a'] };
const objects: Finding = { layer: 'objects', code: 'OBJECTS_DIFFER', message: 'they differ', workloads: [] };
const well: Observation = {
  wanted: 'one',
  applied: true,
  proven: true,
  canRollBack: false,
  selfHeal: 'enforce',
  holdRepairs: false,
  finding: null,
};

const findings = fc.constantFrom<Finding | null>(null, objects, workloads, {
  ...workloads,
  layer: 'functional',
  code: 'NOT_RECONCILING',
});
const observations: fc.Arbitrary<Observation> = fc.record({
  wanted: fc.constantFrom('one', 'two'),
  applied: fc.boolean(),
  proven: fc.boolean(),
  canRollBack: fc.boolean(),
  selfHeal: fc.constantFrom('enforce' as const, 'observe' as const, 'off' as const),
  holdRepairs: fc.boolean(),
  finding: findings,
});
const looks = fc.array(fc.record({ seen: observations, afterMs: fc.nat(600_000) }), { maxLength: 300 });

/** All steps of a story, with the time of each. */
function play(
  story: readonly { seen: Observation; afterMs: number }[],
): (LadderStep & { atMs: number; seen: Observation })[] {
  let state = STILL;
  let atMs = 0;
  return story.map(({ seen, afterMs }) => {
    atMs += afterMs;
    const taken = step(state, seen, atMs, LADDER_LIMITS, () => 0.5);
    state = taken.state;
    return { ...taken, atMs, seen };
  });
}

describe('whatever is seen', () => {
  it('nothing is repaired where repairs are not wanted, or held', () => {
    fc.assert(
      fc.property(looks, (story) =>
        play(story).every(
          ({ action, seen }) => action === null || !seen.applied || (seen.selfHeal === 'enforce' && !seen.holdRepairs),
        ),
      ),
    );
  });

  it('the budget of an hour is never exceeded', () => {
    fc.assert(
      fc.property(looks, (story) => {
        const repairs = play(story).filter(
          ({ action, seen }) => action !== null && (seen.applied || action.rung !== 'apply'),
        );
        return repairs.every(
          ({ atMs }) =>
            repairs.filter((other) => other.atMs > atMs - HOUR_MS && other.atMs <= atMs).length <=
            LADDER_LIMITS.repairsPerHour,
        );
      }),
    );
  });

  it('what never gets well ends escalated, what gets well ends healthy', () => {
    fc.assert(
      fc.property(looks, observations, (story, last) => {
        const enforced: Observation = { ...last, applied: true, selfHeal: 'enforce', holdRepairs: false };
        const forever = Array.from({ length: 60 }, () => ({ seen: enforced, afterMs: 90_000 }));
        const end = play([...story, ...forever]).slice(story.length);
        if (enforced.finding === null) return end.at(-1)?.state.status === 'healthy';
        return end.some(({ state }) => state.status === 'escalated');
      }),
    );
  });

  it('its state can be kept and read again', () => {
    fc.assert(fc.property(looks, (story) => play(story).every(({ state }) => LadderState.safeParse(state).success)));
  });
});

/** What is done, rung by rung, when nothing helps. */
function rungs(seen: Observation): string[] {
  const story = Array.from({ length: 60 }, () => ({ seen, afterMs: 61_000 }));
  const from = [{ seen: { ...seen, finding: null }, afterMs: 0 }, ...story];
  return play(from).flatMap(({ action }) => (action ? [action.rung] : []));
}

describe('the rungs', () => {
  it('objects that differ are applied, some times, then made anew', () => {
    expect(rungs({ ...well, finding: objects })).toEqual([
      ...Array<string>(LADDER_LIMITS.applies).fill('apply'),
      'recreate',
    ]);
  });

  it('a controller that does not work is restarted, then made anew, then somebody has to look', () => {
    const taken = play(Array.from({ length: 20 }, () => ({ seen: { ...well, finding: workloads }, afterMs: 61_000 })));
    expect(taken.flatMap(({ action }) => (action ? [action.rung] : []))).toEqual(['restart', 'recreate']);
    expect(taken.at(-1)?.state.status).toBe('escalated');
  });

  it('a bundle that was never well goes back without being restarted and recreated first', () => {
    expect(rungs({ ...well, finding: workloads, proven: false, canRollBack: true })[0]).toBe('roll-back');
  });

  it('a Deployment that was just put back has its time to start', () => {
    const seen = { ...well, finding: workloads };
    const taken = play([
      { seen: { ...well, finding: objects }, afterMs: 0 },
      { seen, afterMs: 5_000 },
      { seen, afterMs: 60_000 },
      { seen: well, afterMs: 5_000 },
    ]);
    expect(taken.map(({ action }) => action?.rung ?? null)).toEqual(['apply', null, null, null]);
    expect(taken.map(({ state }) => state.status)).toEqual(['repairing', 'repairing', 'repairing', 'healthy']);
  });

  it('after an hour of escalation it is tried again', () => {
    const seen = { ...well, finding: objects };
    const story = Array.from({ length: 20 }, () => ({ seen, afterMs: 61_000 }));
    const later = [...story, { seen, afterMs: HOUR_MS }, { seen, afterMs: 61_000 }];
    const taken = play(later);
    expect(taken.at(-3)?.state.status).toBe('escalated');
    expect(taken.slice(-2).some(({ action }) => action?.rung === 'apply')).toBe(true);
  });

  it('a new spec is applied even where repairs are not wanted', () => {
    const seen: Observation = { ...well, wanted: 'new', applied: false, selfHeal: 'off', finding: objects };
    expect(play([{ seen, afterMs: 0 }])[0]).toMatchObject({
      action: { rung: 'apply' },
      state: { status: 'installing' },
    });
  });
});
