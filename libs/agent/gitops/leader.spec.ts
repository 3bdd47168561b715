import type { Clock } from '@fairlead/clock';
import { FairleadError } from '@fairlead/errors';
import { silentLogger } from '@fairlead/observability';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { whileLeading, type LeaderLease } from './leader.js';

let nowMs: number;
let held: { holder: string; writes: number };
let failure: FairleadError | null;
let stops: AbortController[];
let sleepers: { untilMs: number; wake: () => void }[];
let leading: Set<string>;

const clock: Clock = {
  nowMs: () => nowMs,
  monotonicMs: () => nowMs,
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      signal?.addEventListener('abort', () => reject(new Error('stopped')), { once: true });
      sleepers.push({ untilMs: nowMs + ms, wake: resolve });
    }),
};
const lease: LeaderLease = {
  read: async () => {
    await Promise.resolve();
    if (failure) throw failure;
    return { holder: held.holder, renewed: String(held.writes), version: String(held.writes) };
  },
  write: async (holder, version) => {
    await Promise.resolve();
    if (failure) throw failure;
    if (version !== String(held.writes)) throw new FairleadError('CONFLICT', 'somebody was earlier');
    held = { holder, writes: held.writes + 1 };
  },
};

beforeEach(() => {
  [nowMs, held, failure, stops, sleepers, leading] = [0, { holder: '', writes: 0 }, null, [], [], new Set()];
});
afterEach(() => stops.forEach((stop) => stop.abort()));

function start(holder: string, of: LeaderLease = lease): { readonly stop: () => Promise<void> } {
  const stop = new AbortController();
  stops.push(stop);
  const work = (signal: AbortSignal): Promise<void> => {
    leading.add(holder);
    return new Promise((resolve) => {
      signal.addEventListener('abort', () => {
        leading.delete(holder);
        resolve();
      });
    });
  };
  const running = whileLeading({ lease: of, holder, clock, logger: silentLogger }, work, stop.signal);
  return {
    stop: async () => {
      stop.abort();
      await running;
    },
  };
}

/** Lets so many seconds pass. */
async function pass(seconds: number): Promise<void> {
  const settle = async (): Promise<void> => {
    for (let i = 0; i < 30; i += 1) await Promise.resolve();
  };
  await settle();
  for (let second = 0; second < seconds; second += 1) {
    nowMs += 1_000;
    for (const { untilMs, wake } of sleepers.splice(0)) {
      if (untilMs <= nowMs) wake();
      else sleepers.push({ untilMs, wake });
    }
    await settle();
  }
}

it('of two pods one leads, and keeps on', async () => {
  start('one');
  start('other');
  await pass(0);
  expect(leading.size).toBe(1);
  const [first] = leading;
  await pass(300);
  expect([...leading]).toEqual([first]);
});

it('the other one leads soon after the first was told to end, and half a minute after it died', async () => {
  const one = start('one');
  await pass(1);
  start('other');
  await one.stop();
  await pass(13);
  expect([...leading]).toEqual(['other']);
  held = { holder: 'dead', writes: held.writes + 1 };
  await pass(13);
  expect([...leading]).toEqual([]);
  await pass(13);
  expect([...leading]).toEqual([]);
  await pass(20);
  expect([...leading]).toEqual(['other']);
});

it('who cannot renew stops before another one may begin', async () => {
  start('one');
  await pass(1);
  failure = new FairleadError('UNAVAILABLE', 'the API server is away');
  await pass(9);
  expect([...leading]).toEqual(['one']);
  await pass(20);
  expect([...leading]).toEqual([]);
  failure = null;
  await pass(6);
  expect([...leading]).toEqual(['one']);
});

it.each(['NOT_FOUND', 'FORBIDDEN'] as const)('without a Lease (%s) it leads', async (code) => {
  failure = new FairleadError(code, 'there is none');
  const one = start('one');
  await pass(300);
  expect([...leading]).toEqual(['one']);
  await one.stop();
  expect([...leading]).toEqual([]);
});
