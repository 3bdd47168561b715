import type { ErrorCode, FairleadError } from '@fairlead/errors';
import { expect, it } from 'vitest';
import { EnrolmentLimiter } from './enrolment-limiter.js';

const refused = expect.objectContaining({ code: 'RATE_LIMITED' });

/** How many tries that end so may follow upon each other at once, before one is refused. */
function triesEnding(limiter: EnrolmentLimiter, code: ErrorCode, asker: string | null = 'token', nowMs = 0): number {
  for (let tries = 0; tries < 1_000; tries += 1) {
    try {
      limiter.admit('192.0.2.1', asker, nowMs)(code);
    } catch (error) {
      if ((error as FairleadError).code === 'RATE_LIMITED') return tries;
      throw error;
    }
  }
  return Infinity;
}

it('bears thirty failures per address and minute, and counts addresses apart', () => {
  const limiter = new EnrolmentLimiter();
  for (let i = 0; i < 1_000; i += 1) limiter.admit('192.0.2.1', 'token', 0)();
  for (let i = 0; i < 30; i += 1) limiter.admit('192.0.2.1', 'token', 0);
  expect(() => limiter.admit('192.0.2.1', 'token', 60_000)).toThrow(refused);
  expect(() => limiter.admit('192.0.2.2', 'token', 60_000)).not.toThrow();
  expect(() => limiter.admit('192.0.2.1', 'token', 60_001)).not.toThrow();
});

it('lets no more than thirty wait for their outcome at once, and gives back what did not fail, once', () => {
  const limiter = new EnrolmentLimiter();
  const giveBack = Array.from({ length: 30 }, () => limiter.admit('192.0.2.1', 'token', 0));
  expect(() => limiter.admit('192.0.2.1', 'token', 0)).toThrow(refused);
  giveBack[0]?.();
  giveBack[0]?.();
  limiter.admit('192.0.2.1', 'token', 0);
  expect(() => limiter.admit('192.0.2.1', 'token', 0)).toThrow(refused);
});

it('what began in the window before takes nothing back from this one', () => {
  const limiter = new EnrolmentLimiter();
  const giveBack = limiter.admit('192.0.2.1', 'token', 0);
  for (let i = 0; i < 30; i += 1) limiter.admit('192.0.2.1', 'token', 60_001);
  giveBack();
  expect(() => limiter.admit('192.0.2.1', 'token', 60_001)).toThrow(refused);
});

it('takes an IPv6 /64 for one address, with and without a token', () => {
  const limiter = new EnrolmentLimiter();
  for (let i = 0; i < 30; i += 1) limiter.admit(`2001:db8::${i}`, 'token', 0);
  expect(() => limiter.admit('2001:db8::ffff', 'token', 0)).toThrow(refused);
  expect(() => limiter.admit('2001:db8:0:1::1', 'token', 0)).not.toThrow();
  for (let i = 0; i < 100; i += 1) limiter.admitUninvited(`2001:db8::${i}`, 0);
  expect(() => limiter.admitUninvited('2001:db8::ffff', 0)).toThrow(refused);
});

it('remembers a bounded number of addresses, the newest', () => {
  const limiter = new EnrolmentLimiter();
  for (let i = 0; i < 30; i += 1) {
    limiter.admit('oldest', 'token', 0);
    limiter.admit('kept', 'token', 0);
  }
  for (let i = 0; i < 9_999; i += 1) limiter.admit(`address-${i}`, 'token', 1);
  expect(() => limiter.admit('kept', 'token', 2)).toThrow(refused);
  expect(() => limiter.admit('oldest', 'token', 2)).not.toThrow();
});

it('takes what is away for nobody’s failure, and every other refusal for one', () => {
  expect(triesEnding(new EnrolmentLimiter(), 'UNAVAILABLE')).toBe(Infinity);
  expect(triesEnding(new EnrolmentLimiter(), 'TOKEN_UNKNOWN')).toBe(30);
  expect(triesEnding(new EnrolmentLimiter(), 'INTERNAL')).toBe(30);
});

it('bears what a busy service turns away at a rate of its own, with a minute’s failures after that, and not for ever', () => {
  const limiter = new EnrolmentLimiter();
  expect(triesEnding(limiter, 'RATE_LIMITED')).toBe(60 + 30);
  // Whatever token it shows; and what is refused here costs nothing, so it does not count.
  for (let tries = 0; tries < 100; tries += 1) expect(() => limiter.admit('192.0.2.1', 'other', 0)).toThrow(refused);
  expect(triesEnding(limiter, 'RATE_LIMITED', 'token', 60_001)).toBe(60 + 30);
  expect(triesEnding(new EnrolmentLimiter(), 'DEADLINE_EXCEEDED')).toBe(60 + 30);
  // Two a second, for as long as it takes.
  const fleet = new EnrolmentLimiter();
  for (let agent = 0; agent < 1_200; agent += 1)
    fleet.admit('192.0.2.1', `token-${agent}`, agent * 500)('RATE_LIMITED');
});

it('lets each agent of a fleet wait for its approval, and none ask faster than agents do', () => {
  const limiter = new EnrolmentLimiter();
  for (let agent = 0; agent < 1_000; agent += 1) limiter.admit('192.0.2.1', `token-${agent}`, 0)('ENROLMENT_PENDING');
  expect(triesEnding(limiter, 'ENROLMENT_PENDING')).toBe(10 + 30);
});

it('takes nothing from who has a token when agents without one are turned away, which have a rate of their own', () => {
  const limiter = new EnrolmentLimiter();
  expect(triesEnding(limiter, 'RATE_LIMITED', null)).toBe(Infinity);
  expect(triesEnding(limiter, 'ENROLMENT_PENDING', null)).toBe(Infinity);
  expect(triesEnding(limiter, 'UNAUTHENTICATED', null)).toBe(30);
});
