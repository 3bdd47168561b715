import type { LostPassages } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Outcome } from '../passage/outcome.js';
import { RefusalsInFloods } from './refusals-in-floods.js';

let sums: LostPassages[];
let hasRoom: boolean;
let refusals: RefusalsInFloods;

beforeEach(() => {
  [sums, hasRoom] = [[], true];
  vi.useFakeTimers();
  refusals = new RefusalsInFloods((sum) => hasRoom && sums.push(sum) > 0, { monotonicMs: () => 0, nowMs: () => 0 });
});
afterEach(() => vi.useRealTimers());

type Code = 'UNAUTHENTICATED' | 'NOT_FOUND' | 'FORBIDDEN' | 'RATE_LIMITED';

function refused(code: Code, user?: string, said: Partial<Outcome> = {}): Outcome {
  const failure = new FairleadError(code, '');
  const identity = user === undefined ? {} : { identity: { kind: 'user', id: user, name: user, tenantId: 'shop' } };
  const ending = { kind: 'failed', failure, status: 401, hop: 'gateway' };
  return { door: 'kube-api', decision: 'refused', intended: false, ...identity, ending, ...said } as Outcome;
}

/** How many of so many are kept as they are. */
const flood = (count: number, outcome: Outcome): number =>
  Array.from({ length: count }, () => refusals.take(outcome)).filter(Boolean).length;
const told = () => sums.map(({ count, why, tenantId, user, what }) => [count, why, tenantId, user, what]);

it('of those who proved nothing are kept one by one up to a rate, and beyond it counted exactly, by door and cause', () => {
  expect(flood(5_000, refused('UNAUTHENTICATED'))).toBe(100);
  expect(refusals.take(refused('NOT_FOUND'))).toBe(false);
  expect(sums).toEqual([]);
  vi.advanceTimersByTime(10_000);
  expect(told()).toEqual([
    [4_900, 'too many of nobody known: UNAUTHENTICATED at the door kube-api', '_', '', 'refusals'],
    [1, 'too many of nobody known: NOT_FOUND at the door kube-api', '_', '', 'refusals'],
  ]);
});

it('of whoever has a valid token are, too, for each user apart', () => {
  expect(flood(5_000, refused('FORBIDDEN', 'ann'))).toBe(300);
  expect(flood(50, refused('RATE_LIMITED', 'ann'))).toBe(0);
  expect(flood(50, refused('FORBIDDEN', 'ben'))).toBe(50);
  expect(flood(50, refused('UNAUTHENTICATED'))).toBe(50);
  vi.advanceTimersByTime(10_000);
  expect(told()).toEqual([
    [4_700, 'too many of ann: FORBIDDEN at the door kube-api', 'shop', 'ann', 'refusals'],
    [50, 'too many of ann: RATE_LIMITED at the door kube-api', 'shop', 'ann', 'refusals'],
  ]);
});

it('are none of what was let in, or began', () => {
  flood(5_000, refused('FORBIDDEN', 'ann'));
  expect(refusals.take(refused('FORBIDDEN', 'ann', { decision: 'allowed' }))).toBe(true);
  expect(refusals.take(refused('FORBIDDEN', 'ann', { intended: true }))).toBe(true);
  expect(refusals.take(refused('FORBIDDEN', 'ann', { ending: { kind: 'answered', status: 200 } }))).toBe(true);
});

it('are counted on while there is no room, exactly', () => {
  hasRoom = false;
  flood(5_000, refused('UNAUTHENTICATED'));
  vi.advanceTimersByTime(20_000);
  flood(1_000, refused('UNAUTHENTICATED'));
  hasRoom = true;
  vi.advanceTimersByTime(10_000);
  expect(sums.map(({ count }) => count)).toEqual([5_900]);
});

it('of more users than are remembered are still counted exactly', () => {
  for (let user = 0; user < 600; user += 1) flood(302, refused('FORBIDDEN', `u${user}`));
  vi.advanceTimersByTime(10_000);
  expect(sums.length).toBeLessThanOrEqual(512);
  expect(sums.reduce((sum, { count }) => sum + count, 0)).toBe(1_200);
  expect(told().at(-1)).toEqual([178, 'too many of nobody known: various causes at the door any', '_', '', 'refusals']);
});

it('are told of when the replica stops, and none twice', () => {
  flood(103, refused('UNAUTHENTICATED'));
  refusals.tell();
  refusals.tell();
  vi.advanceTimersByTime(60_000);
  expect(sums.map(({ count }) => count)).toEqual([3]);
});
