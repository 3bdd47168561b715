import { FairleadError } from '@fairlead/errors';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { LeaseWorld } from '../testing/lease-world.js';
import type { Term } from './term.js';

const SILENT_MS = 15_000;
const DEADLINE_MS = 10_000;
/** Longest time between two attempts. */
const ATTEMPT_MS = 3_000;

let world: LeaseWorld;
let stop: AbortController;
let running: Promise<void>[];

beforeEach(() => {
  world = new LeaseWorld();
  stop = new AbortController();
  running = [];
});
afterEach(async () => {
  stop.abort();
  await Promise.all(running);
});

/** One that reaches for the Lease, until it is stopped. */
function start(holder: string) {
  const contender = world.contender(holder);
  const own = new AbortController();
  const ended = contender.lease.run(AbortSignal.any([own.signal, stop.signal]));
  running.push(ended);
  const end = async (): Promise<void> => {
    own.abort();
    await ended;
  };
  return { ...contender, end, term: () => contender.lease.term(stop.signal) as Promise<Term> };
}

it('is taken by one, and kept', async () => {
  const [a, b] = [start('a'), start('b')];
  const term = await a.term();
  for (let at = 0; at < 20; at += 1) await Promise.all([a.clock.pass(ATTEMPT_MS), b.clock.pass(ATTEMPT_MS)]);
  expect(world.holder).toBe('a');
  expect(term.over.aborted).toBe(false);
  await expect(term.sure()).resolves.toBeUndefined();
  expect(b.standby()).toBeGreaterThan(5);
});

it('is taken over from one that gave no sign of life for its duration, and not sooner', async () => {
  const a = start('a');
  await a.term();
  const b = start('b');
  await b.clock.pass(SILENT_MS - ATTEMPT_MS);
  expect(world.holder).toBe('a');
  await b.clock.pass(2 * ATTEMPT_MS);
  expect(world.holder).toBe('b');
});

it('has one woken after it was taken over write nothing', async () => {
  const a = start('a');
  const term = await a.term();
  const b = start('b');
  await b.clock.pass(SILENT_MS + ATTEMPT_MS);
  a.clock.jump(SILENT_MS + ATTEMPT_MS);
  expect(() => term.check()).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }));
  await expect(term.sure()).rejects.toMatchObject({ code: 'CONFLICT' });
  expect(term.over.aborted).toBe(true);
  expect(world.holder).toBe('b');
  await b.end();
  await a.clock.pass(ATTEMPT_MS);
  expect((await a.term()).over.aborted).toBe(false);
});

it('has one that was held up, and not missed, go on', async () => {
  const a = start('a');
  const term = await a.term();
  a.clock.jump(60_000);
  expect(() => term.check()).toThrow('in time');
  await term.sure();
  expect(() => term.check()).not.toThrow();
});

it.each(['monotonic', 'wall'] as const)('counts by the clock that went on, if only the %s one did', async (which) => {
  const a = start('a');
  const term = await a.term();
  a.clock[which] += DEADLINE_MS;
  expect(() => term.check()).toThrow('in time');
});

it('is kept where only its metadata was changed', async () => {
  const a = start('a');
  const term = await a.term();
  await world.annotate();
  await a.clock.pass(ATTEMPT_MS);
  // It was renewed within the last two seconds; before that it had been three.
  a.clock.jump(DEADLINE_MS - 2_500);
  expect(() => term.check()).not.toThrow();
});

it('is lost with a Lease that is deleted, and made anew', async () => {
  const a = start('a');
  const term = await a.term();
  world.lease = null;
  await a.clock.pass(ATTEMPT_MS);
  expect(term.over.aborted).toBe(true);
  await a.clock.pass(ATTEMPT_MS);
  expect(world.holder).toBe('a');
  expect(await a.term()).not.toBe(term);
});

it('is there for the next one at once when it is given back', async () => {
  const a = start('a');
  const term = await a.term();
  const b = start('b');
  await a.end();
  expect(term.over.aborted).toBe(true);
  await b.clock.pass(ATTEMPT_MS);
  expect(world.holder).toBe('b');
});

it('says that it cannot be written', async () => {
  world.refusal = new FairleadError('INTERNAL', 'failed calling webhook', { details: { httpStatus: 500 } });
  const a = start('a');
  await a.clock.pass(ATTEMPT_MS);
  expect(a.failures.length).toBeGreaterThan(0);
  world.refusal = null;
  await a.clock.pass(ATTEMPT_MS);
  const term = await a.term();
  world.refusal = new FairleadError('INTERNAL', 'failed calling webhook', { details: { httpStatus: 500 } });
  a.clock.jump(DEADLINE_MS);
  await expect(term.sure()).rejects.toMatchObject({ details: { httpStatus: 500 } });
  expect(term.over.aborted).toBe(false);
  world.refusal = null;
  await term.sure();
});
