import type { LostPassages } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Outcome } from '../passage/outcome.js';
import { StrangerRefusals } from './stranger-refusals.js';

let sums: LostPassages[];
const clock = { monotonicMs: () => 0, nowMs: () => 0 };

beforeEach(() => {
  sums = [];
  vi.useFakeTimers();
});
afterEach(() => vi.useRealTimers());

function refused(code: 'UNAUTHENTICATED' | 'NOT_FOUND'): Outcome {
  const failure = new FairleadError(code, '');
  return { door: 'kube-api', ending: { kind: 'failed', failure, status: 401, hop: 'gateway' } } as Outcome;
}

it('are kept one by one up to a rate, and beyond it counted exactly, by door and cause', () => {
  const strangers = new StrangerRefusals((sum) => sums.push(sum), clock);
  let kept = 0;
  for (let each = 0; each < 5_000; each += 1) if (strangers.take(refused('UNAUTHENTICATED'))) kept += 1;
  expect(strangers.take(refused('NOT_FOUND'))).toBe(false);
  expect([kept, sums]).toEqual([100, []]);
  vi.advanceTimersByTime(10_000);
  expect(sums.map(({ count, why, tenantId }) => [count, why, tenantId])).toEqual([
    [4_900, 'too many of nobody known: UNAUTHENTICATED at the door kube-api', '_'],
    [1, 'too many of nobody known: NOT_FOUND at the door kube-api', '_'],
  ]);
});

it('are told of when the replica stops, and none twice', () => {
  const strangers = new StrangerRefusals((sum) => sums.push(sum), clock);
  for (let each = 0; each < 103; each += 1) strangers.take(refused('UNAUTHENTICATED'));
  strangers.tell();
  strangers.tell();
  vi.advanceTimersByTime(60_000);
  expect(sums.map(({ count }) => count)).toEqual([3]);
});
