import { beforeEach, expect, it } from 'vitest';
import { findBetter, lookInMs } from './better-endpoint.js';
import type { Urgency } from './endpoint-choice.js';

const here = { host: 'here', port: 443 };
const there = { host: 'there', port: 443 };
let slept: number[];
let tried: string[];
let urgency: Urgency;
let known: AbortController;
let over: AbortController;
/** What the next tries come to; then the link is over. */
let outcomes: (string | null | Error)[];

beforeEach(() => {
  [slept, tried, urgency, outcomes] = [[], [], 'soon', []];
  known = new AbortController();
  over = new AbortController();
});

function find(onSleep: (count: number) => void = () => undefined): Promise<string | null> {
  return findBetter<string>({
    endpoint: here,
    choice: { urgency: () => urgency, better: () => there },
    crowd: () => 100,
    make: ({ host }) => {
      tried.push(host);
      const outcome = outcomes.shift();
      if (outcome === undefined) over.abort();
      return outcome instanceof Error ? Promise.reject(outcome) : Promise.resolve(outcome ?? null);
    },
    changed: () => known.signal,
    clock: {
      sleep: (ms, signal) => {
        slept.push(ms);
        onSleep(slept.length);
        return signal?.aborted ? Promise.reject(signal.reason as Error) : Promise.resolve();
      },
    },
    over: over.signal,
    random: () => 0.5,
  });
}

it('gives the first link that stands, after tries that wait longer each time', async () => {
  outcomes = [null, new Error('nobody there'), null, 'a link'];
  expect(await find()).toBe('a link');
  expect(tried).toEqual(['there', 'there', 'there', 'there']);
  expect(slept).toEqual([1_000, 5_000, 10_000, 20_000]);
});

it('tries nothing where the link may stay, until something else is known', async () => {
  urgency = 'stay';
  outcomes = ['a link'];
  const found = await find((count) => {
    if (count !== 3) return;
    known.abort();
    known = new AbortController();
    urgency = 'soon';
  });
  expect(found).toBe('a link');
  expect(slept).toEqual([600_000, 600_000, 600_000, 1_000]);
  expect(tried).toEqual(['there']);
});

it('gives nothing once the link is over', async () => {
  expect(await find(() => over.abort())).toBeNull();
  expect(tried).toEqual([]);
});

it('spreads a crowd over a minute at most, and looks at leisure every ten minutes or so', () => {
  const last = (): number => 1;
  expect([1, 1_000, 100_000].map((crowd) => Math.round(lookInMs('soon', 0, crowd, last)))).toEqual([
    500, 20_000, 60_000,
  ]);
  expect([() => 0, last].map((random) => Math.round(lookInMs('at-leisure', 3, 50, random)))).toEqual([
    300_000, 900_000,
  ]);
  expect(lookInMs('soon', 40, 1, last)).toBe(600_000);
});
