import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planWaves, counted, type Verdict } from './rollout-clusters.js';
import {
  beginRollout,
  hasEnded,
  steerRollout,
  stepRollout,
  type RolloutAction,
  type RolloutPlan,
  type RolloutState,
} from './rollout.js';

const plan: RolloutPlan = { soakMs: 1_000, timeoutMs: 10_000, maxFailed: 0, onFailure: 'roll-back' };
const waves = [['a'], ['b', 'c'], ['d']];

interface Happening {
  readonly verdicts: readonly Verdict[];
  readonly breakerOpen: boolean;
  readonly afterMs: number;
  readonly steer: Parameters<typeof steerRollout>[1] | null;
}

/** All clusters in their order, each once. */
function wavesOf(sizes: readonly (number | string)[], count: number): string[][] {
  const ids = Array.from({ length: count }, (_, index) => `c${index}`);
  const planned = planWaves(
    [...sizes],
    ids.map((id) => ({ id, silent: false })),
  );
  expect(planned.flat()).toEqual(ids);
  return planned;
}

/** A rollout that a test drives. */
class Drive {
  state: RolloutState;
  nowMs = 0;
  breakerOpen = false;
  readonly verdicts: Record<string, Verdict> = {};
  readonly actions: RolloutAction[] = [];

  constructor(
    public plan_: RolloutPlan = plan,
    of: readonly (readonly string[])[] = waves,
    hasFormer = true,
  ) {
    this.state = beginRollout(of, () => hasFormer);
  }

  /** Looks so often, this far apart. */
  look(times = 1, apartMs = 500): this {
    for (let time = 0; time < times; time += 1) {
      const verdict = (id: string): Verdict => this.verdicts[id] ?? 'progressing';
      const { state, actions } = stepRollout(
        this.state,
        { breakerOpen: this.breakerOpen, verdict },
        this.nowMs,
        this.plan_,
      );
      this.state = state;
      this.actions.push(...actions);
      this.nowMs += apartMs;
    }
    return this;
  }

  happen({ verdicts, breakerOpen, afterMs, steer }: Happening): void {
    this.state.waves.flat().forEach((id, index) => (this.verdicts[id] = verdicts[index] as Verdict));
    this.breakerOpen = breakerOpen;
    if (steer) this.steer(steer);
    this.look(1, afterMs);
  }

  steer(step: Parameters<typeof steerRollout>[1]): boolean {
    const steered = steerRollout(this.state, step, 'somebody said so', this.nowMs);
    if (steered) {
      this.state = steered.state;
      this.actions.push(...steered.actions);
    }
    return steered !== null;
  }

  all(verdict: Verdict): this {
    for (const id of this.state.waves.flat()) this.verdicts[id] = verdict;
    return this;
  }

  given(kind: 'apply' | 'revert' = 'apply'): string[][] {
    return this.actions.flatMap((action) => (action.kind === kind ? [[...action.clusters]] : []));
  }
}

describe('a rollout', () => {
  it('goes from wave to wave, each soaked, and ends', () => {
    const drive = new Drive();
    expect(drive.look(3).given()).toEqual([['a']]);
    drive.verdicts['a'] = 'healthy';
    expect(drive.look(2).given()).toEqual([['a']]);
    drive.all('healthy').look(30);
    expect(drive.given()).toEqual([['a'], ['b', 'c'], ['d']]);
    expect(drive.state.state).toBe('done');
    expect(drive.actions.at(-1)).toEqual({ kind: 'finish' });
  });

  it('stops at the first wave that fails, and gives back what there was', () => {
    const drive = new Drive().look();
    drive.verdicts['a'] = 'failed';
    drive.look();
    expect(drive.state).toMatchObject({ state: 'rolling-back', reason: '1 cluster of wave 1 failed' });
    expect(drive.given('revert')).toEqual([['a']]);
    drive.verdicts['a'] = 'healthy';
    drive.look(2);
    expect(drive.state.state).toBe('rolled-back');
    expect(drive.actions.at(-1)).toEqual({ kind: 'restore' });
    expect(drive.given()).toEqual([['a']]);
  });

  it('takes what is not healthy in time for failed, and goes back from all waves', () => {
    const drive = new Drive().all('healthy').look(6);
    drive.verdicts['b'] = 'progressing';
    drive.look(30);
    expect(drive.given()).toEqual([['a'], ['b', 'c']]);
    expect(drive.given('revert')).toEqual([['a', 'b', 'c']]);
  });

  it('starts the soaking again for a cluster that was healthy and is not', () => {
    const drive = new Drive({ ...plan, soakMs: 5_000 }).all('healthy').look(8);
    drive.verdicts['a'] = 'progressing';
    drive.look(2);
    drive.verdicts['a'] = 'healthy';
    expect(drive.look(8).given()).toEqual([['a']]);
    expect(drive.look(10).given()).toHaveLength(2);
  });

  it('does not mind a cluster of an earlier wave that is busy for a while, or goes away', () => {
    const drive = new Drive({ ...plan, soakMs: 30_000 }).all('healthy').look(90);
    expect(drive.given()).toHaveLength(2);
    drive.verdicts['a'] = 'progressing';
    expect(drive.look(3).state.state).toBe('running');
    Object.assign(drive.verdicts, { a: 'healthy' });
    drive.look();
    drive.verdicts['a'] = 'silent';
    expect(drive.look(200).state.state).toBe('done');
  });

  it('bears so many failures in a wave, and no more', () => {
    const drive = new Drive({ ...plan, maxFailed: 1 }).all('healthy');
    drive.verdicts['b'] = 'failed';
    expect(drive.look(30).state.state).toBe('done');
    const worse = new Drive({ ...plan, maxFailed: 1, onFailure: 'pause' }).all('healthy');
    Object.assign(worse.verdicts, { b: 'failed', c: 'failed' });
    expect(worse.look(30).state).toMatchObject({ state: 'paused', reason: '2 clusters of wave 2 failed' });
    expect(worse.given('revert')).toEqual([]);
  });

  it('is paused, goes on with all its time, and is aborted or rolled back', () => {
    const drive = new Drive().look();
    expect(drive.steer('resume')).toBe(false);
    expect(drive.steer('pause')).toBe(true);
    expect(drive.look(50).state.state).toBe('paused');
    expect(drive.steer('resume')).toBe(true);
    expect(drive.look(10).state.state).toBe('running');
    expect(drive.steer('roll-back')).toBe(true);
    expect(drive.steer('pause')).toBe(false);
    expect(drive.look(30).state.state).toBe('rolled-back');
    expect(drive.steer('abort')).toBe(false);
  });

  it('is held while the breaker is open, and goes on after it', () => {
    const drive = new Drive().look().all('healthy');
    drive.breakerOpen = true;
    expect(drive.look(100).state.state).toBe('held-by-breaker');
    expect(drive.given()).toEqual([['a']]);
    drive.breakerOpen = false;
    expect(drive.look(30).state.state).toBe('done');
  });

  it('does not wait for clusters that nobody hears of: they get it last', () => {
    const drive = new Drive().all('healthy');
    Object.assign(drive.verdicts, { a: 'silent', b: 'silent' });
    drive.look(30);
    expect(drive.given()).toEqual([['c'], ['d', 'a', 'b']]);
    expect(drive.state.state).toBe('done');
  });

  it('does not wait for clusters that are none of its own any more', () => {
    const drive = new Drive().all('healthy');
    Object.assign(drive.verdicts, { a: 'gone', c: 'gone' });
    expect(drive.look(30).given()).toEqual([['b'], ['d']]);
    expect(drive.state.state).toBe('done');
  });

  it('waits for somebody where there is nothing to go back to', () => {
    const drive = new Drive(plan, waves, false).look();
    drive.verdicts['a'] = 'failed';
    expect(drive.look(5).state).toMatchObject({
      state: 'paused',
      reason: expect.stringContaining('nothing') as string,
    });
    expect(drive.steer('roll-back')).toBe(true);
    expect(drive.state.state).toBe('aborted');
  });

  it('of nothing is done', () => expect(new Drive(plan, []).look().state.state).toBe('done'));
});

describe('any rollout', () => {
  const verdicts = fc.constantFrom<Verdict>('progressing', 'healthy', 'failed', 'silent', 'gone');
  const happening = fc.record({
    verdicts: fc.array(verdicts, { minLength: 12, maxLength: 12 }),
    breakerOpen: fc.boolean(),
    afterMs: fc.integer({ min: 0, max: 6_000 }),
    steer: fc.option(fc.constantFrom('pause', 'resume', 'abort', 'roll-back'), { freq: 8 }),
  });
  const setup = fc.record({
    sizes: fc.array(fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constantFrom('10%', '50%', '100%')), { maxLength: 4 }),
    count: fc.integer({ min: 0, max: 12 }),
    maxFailed: fc.integer({ min: 0, max: 3 }),
    onFailure: fc.constantFrom('pause', 'roll-back'),
    happenings: fc.array(happening, { maxLength: 60 }),
  });

  it('gives nothing while it is held or paused, no wave before the one before is good, and all once', () => {
    fc.assert(
      fc.property(setup, ({ sizes, count, maxFailed, onFailure, happenings }) => {
        const drive = new Drive({ ...plan, maxFailed, onFailure }, wavesOf(sizes, count));
        const wrong: string[] = [];
        for (const happening of happenings) {
          const before = drive.state;
          const done = drive.actions.length;
          drive.happen(happening);
          const gives = drive.actions.slice(done).some(({ kind }) => kind === 'apply');
          const earlier = before.waves.slice(0, before.wave);
          const failed = earlier.map((wave) => counted(drive.state.clusters, wave, 'failed'));
          const waiting = earlier.map((wave) => counted(drive.state.clusters, wave, 'waiting'));
          if (gives && happening.breakerOpen) wrong.push('gave with an open breaker');
          if (gives && (hasEnded(before) || before.state === 'held-by-breaker'))
            wrong.push(`gave while ${before.state}`);
          if (gives && Math.max(0, ...failed) > maxFailed) wrong.push('gave after a wave that failed');
          if (gives && Math.max(0, ...waiting) > 0) wrong.push('gave before the wave before');
        }
        const given = drive.given().flat();
        const back = drive.given('revert').flat();
        expect(wrong).toEqual([]);
        expect(new Set(given).size).toBe(given.length);
        expect(new Set(back).size).toBe(back.length);
        expect(back.filter((id) => !given.includes(id))).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  it('ends, one way or the other, when its clusters have become healthy', () => {
    fc.assert(
      fc.property(setup, ({ sizes, count, maxFailed, onFailure, happenings }) => {
        const drive = new Drive({ ...plan, maxFailed, onFailure }, wavesOf(sizes, count));
        for (const happening of happenings) drive.happen({ ...happening, steer: null });
        drive.breakerOpen = false;
        if (drive.state.state === 'paused') drive.steer('resume');
        drive.all('healthy').look(60, 1_000);
        expect(['done', 'rolled-back']).toContain(drive.state.state);
      }),
      { numRuns: 300 },
    );
  });
});
