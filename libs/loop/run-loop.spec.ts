import type { Clock } from '@fairlead/clock';
import { FairleadError } from '@fairlead/errors';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RunLoop, runLoop, type RunLoopOptions } from './run-loop.js';
import { Wake } from './wake.js';

/** Waits take no time, but are written down; an aborted signal ends one as the real clock does. */
function jumpingClock(): Clock & { readonly waits: number[] } {
  const waits: number[] = [];
  return {
    waits,
    nowMs: () => 0,
    monotonicMs: () => 0,
    sleep: async (ms, signal) => {
      waits.push(ms);
      await Promise.resolve();
      signal?.throwIfAborted();
    },
  };
}

/** Runs these rounds, one after the other, and gives what was waited after each. */
async function waitsOf(
  rounds: readonly (() => number | void)[],
  options: Omit<RunLoopOptions, 'work' | 'clock'>,
): Promise<number[]> {
  const clock = jumpingClock();
  const stop = new AbortController();
  let next = 0;
  const work = async (): Promise<number | void> => {
    const now = rounds[next];
    next += 1;
    if (now) return now();
    stop.abort();
  };
  await runLoop({ ...options, clock, work }, stop.signal);
  return clock.waits.slice(0, rounds.length);
}

const fail = (): never => {
  throw new FairleadError('UNAVAILABLE', 'away');
};
const otherwise = (): never => {
  throw new FairleadError('CONFLICT', 'changed');
};

describe('runLoop', () => {
  it('waits for the interval, or for as long as the work says, and not at all for 0', async () => {
    const waits = await waitsOf([() => undefined, () => 7, () => 0, () => undefined], {
      intervalMs: 100,
      onFailed: fail,
    });
    expect(waits.slice(0, 3)).toEqual([100, 7, 100]);
  });

  it('draws the interval within its jitter', () =>
    fc.assert(
      fc.asyncProperty(fc.double({ min: 0, max: 0.9, noNaN: true }), async (jitter) => {
        const [waitMs = -1] = await waitsOf([() => undefined], { intervalMs: 1_000, jitter, onFailed: fail });
        expect(waitMs).toBeGreaterThanOrEqual(1_000 * (1 - jitter) - 1e-6);
        expect(waitMs).toBeLessThanOrEqual(1_000 * (1 + jitter));
      }),
    ));

  it('backs off within its bounds while it fails, begins anew after a round that did not, and says which failures repeat', async () => {
    const told: unknown[] = [];
    const retry = { baseMs: 10, capMs: 25, leastMs: 100 };
    const waits = await waitsOf([fail, fail, otherwise, () => undefined, fail], {
      intervalMs: 1,
      retry,
      onFailed: (error, failure) => told.push([(error as FairleadError).code, failure.before, failure.repeated]),
    });
    expect(told).toEqual([
      ['UNAVAILABLE', 0, false],
      ['UNAVAILABLE', 1, true],
      ['CONFLICT', 2, false],
      ['UNAVAILABLE', 0, false],
    ]);
    for (const [at, ceilingMs] of [
      [0, 110],
      [1, 120],
      [2, 125],
      [4, 110],
    ] as const) {
      expect(waits[at]).toBeGreaterThanOrEqual(100);
      expect(waits[at]).toBeLessThan(ceilingMs);
    }
    expect(waits[3]).toBe(1);
  });

  it('waits as always after a failure where there is no other pace for that', async () => {
    expect(await waitsOf([fail], { intervalMs: 50, onFailed: () => undefined })).toEqual([50]);
  });

  it('does not tell of a round that its end cut short', async () => {
    const stop = new AbortController();
    const work = async (): Promise<void> => {
      stop.abort(new Error('enough'));
      throw stop.signal.reason;
    };
    await runLoop({ work, intervalMs: 1, onFailed: () => expect.unreachable() }, stop.signal);
  });
});

describe('RunLoop', () => {
  it('runs one round at a time: a call while one runs brings one more', async () => {
    const rounds: PromiseWithResolvers<void>[] = [];
    const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const loop = new RunLoop({
      intervalMs: 1e9,
      onFailed: (error) => expect.unreachable(String(error)),
      work: async () => {
        const round = Promise.withResolvers<void>();
        begun[rounds.push(round) - 1]?.resolve();
        await round.promise;
      },
    });
    await begun[0]?.promise;
    for (let call = 0; call < 5; call += 1) loop.wake();
    expect(rounds).toHaveLength(1);
    rounds[0]?.resolve();
    await begun[1]?.promise;
    expect(rounds).toHaveLength(2);
    rounds[1]?.resolve();
    await loop[Symbol.asyncDispose]();
    expect(rounds).toHaveLength(2);
  });

  it('is not disposed of before the round that runs has ended', async () => {
    const round = Promise.withResolvers<void>();
    const order: string[] = [];
    const loop = new RunLoop({
      intervalMs: 1e9,
      onFailed: (error) => expect.unreachable(String(error)),
      work: async () => {
        await round.promise;
        order.push('round');
      },
    });
    const disposed = loop[Symbol.asyncDispose]().then(() => order.push('disposed'));
    round.resolve();
    await disposed;
    expect(order).toEqual(['round', 'disposed']);
  });
});

describe('Wake', () => {
  it('ends the wait that is, or the next one, and only that', async () => {
    const clock = jumpingClock();
    const wake = new Wake();
    const ended: boolean[] = [];
    const signal = new AbortController().signal;
    const observed: Clock = {
      ...clock,
      sleep: async (ms, either) => {
        await clock.sleep(ms, either).finally(() => ended.push(either?.aborted ?? false));
      },
    };
    wake.call();
    await wake.wait(observed, 1, signal);
    await wake.wait(observed, 1, signal);
    const waiting = wake.wait(observed, 1, signal);
    wake.call();
    await waiting;
    expect(ended).toEqual([true, false, true]);
  });
});
