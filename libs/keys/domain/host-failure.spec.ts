import { FairleadError } from '@fairlead/errors';
import { expect, it } from 'vitest';
import { HostFailure, asked, isOfTheHost, naming, needsSomebody, retryAt } from './host-failure.js';

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

it('names the host that is away, and sends people there rather than to our own services', () => {
  const host = { name: 'corp', url: 'https://git.example.com' };
  const away = new FairleadError('UNAVAILABLE', 'the Git host could not be reached', {
    details: { cause: 'ECONNREFUSED' },
  });
  const named = naming(host, away);
  expect(named.message).toBe('the Git host could not be reached (corp at https://git.example.com: ECONNREFUSED)');
  expect(named.details).toEqual({
    cause: 'ECONNREFUSED',
    next: 'see whether corp (https://git.example.com) is up and can be reached from where the keys service runs, then try again',
  });
  const byHand = naming({ name: 'by-hand', url: null }, new FairleadError('DEADLINE_EXCEEDED', 'late'));
  expect([byHand.message, byHand.details?.['next']]).toEqual([
    'late (by-hand)',
    expect.stringMatching(/^see whether by-hand is up and fast enough/),
  ]);
  // The API knows better what to do about these.
  expect(naming(host, new FairleadError('GIT_TOKEN_REFUSED', 'no')).details?.['next']).toBeUndefined();
  const missing = new FairleadError('NOT_FOUND', 'there is no such repository');
  expect(naming(host, missing)).toBe(missing);
});
