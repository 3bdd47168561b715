import { FairleadError } from '@fairlead/errors';
import { expect, it } from 'vitest';
import { HostFailure, asked, isOfTheHost, needsSomebody, retryAt } from './host-failure.js';

const now = new Date('2026-01-01T12:00:00Z');
const waitMs = (error: FairleadError, failures: number, random: number): number =>
  retryAt(error, failures, now, () => random).getTime() - now.getTime();

it('waits as long as a host said, and a little longer', () => {
  const details = { retryAt: '2026-01-01T12:30:00.000Z' };
  const limited = new FairleadError('RATE_LIMITED', 'wait', { details });
  expect([0, 0.99].map((random) => waitMs(limited, 0, random))).toEqual([1_800_000, 1_804_950]);
});

it('waits longer with each failure, up to a bound', () => {
  const away = new FairleadError('UNAVAILABLE', 'away');
  expect([0, 1, 20].map((failures) => waitMs(away, failures, 0.5))).toEqual([2_000, 3_000, 31_000]);
  const refused = new FairleadError('GIT_TOKEN_REFUSED', 'no');
  expect([0, 20].map((failures) => waitMs(refused, failures, 0.5))).toEqual([60_000, 330_000]);
});

it('tells what is about the host from what is about one repository', () => {
  expect(isOfTheHost(new FairleadError('GIT_TOKEN_REFUSED', ''))).toBe(true);
  expect(isOfTheHost(new FairleadError('NOT_FOUND', ''))).toBe(false);
  expect(['UNAVAILABLE', 'UNTRUSTED_PEER', null].map(needsSomebody)).toEqual([false, true, false]);
});

it("tells a host's failures from our own", async () => {
  const error = new FairleadError('UNAVAILABLE', 'away');
  await expect(asked(() => Promise.reject(error))).rejects.toBeInstanceOf(HostFailure);
  const other = new TypeError('ours');
  await expect(asked(() => Promise.reject(other))).rejects.toBe(other);
});
