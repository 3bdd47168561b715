import { expect, it } from 'vitest';
import { EnrolmentLimiter } from './enrolment-limiter.js';

const refused = expect.objectContaining({ code: 'RATE_LIMITED' });

it('bears thirty failures per address and minute, and counts addresses apart', () => {
  const limiter = new EnrolmentLimiter();
  for (let i = 0; i < 1_000; i += 1) limiter.admit('192.0.2.1', 0)();
  for (let i = 0; i < 30; i += 1) limiter.admit('192.0.2.1', 0);
  expect(() => limiter.admit('192.0.2.1', 60_000)).toThrow(refused);
  expect(() => limiter.admit('192.0.2.2', 60_000)).not.toThrow();
  expect(() => limiter.admit('192.0.2.1', 60_001)).not.toThrow();
});

it('lets no more than thirty wait for their outcome at once, and gives back what did not fail, once', () => {
  const limiter = new EnrolmentLimiter();
  const giveBack = Array.from({ length: 30 }, () => limiter.admit('192.0.2.1', 0));
  expect(() => limiter.admit('192.0.2.1', 0)).toThrow(refused);
  giveBack[0]?.();
  giveBack[0]?.();
  limiter.admit('192.0.2.1', 0);
  expect(() => limiter.admit('192.0.2.1', 0)).toThrow(refused);
});

it('what began in the window before takes nothing back from this one', () => {
  const limiter = new EnrolmentLimiter();
  const giveBack = limiter.admit('192.0.2.1', 0);
  for (let i = 0; i < 30; i += 1) limiter.admit('192.0.2.1', 60_001);
  giveBack();
  expect(() => limiter.admit('192.0.2.1', 60_001)).toThrow(refused);
});

it('takes an IPv6 /64 for one address, with and without a token', () => {
  const limiter = new EnrolmentLimiter();
  for (let i = 0; i < 30; i += 1) limiter.admit(`2001:db8::${i}`, 0);
  expect(() => limiter.admit('2001:db8::ffff', 0)).toThrow(refused);
  expect(() => limiter.admit('2001:db8:0:1::1', 0)).not.toThrow();
  for (let i = 0; i < 100; i += 1) limiter.admitUninvited(`2001:db8::${i}`, 0);
  expect(() => limiter.admitUninvited('2001:db8::ffff', 0)).toThrow(refused);
});

it('remembers a bounded number of addresses, the newest', () => {
  const limiter = new EnrolmentLimiter();
  for (let i = 0; i < 30; i += 1) {
    limiter.admit('oldest', 0);
    limiter.admit('kept', 0);
  }
  for (let i = 0; i < 9_999; i += 1) limiter.admit(`address-${i}`, 1);
  expect(() => limiter.admit('kept', 2)).toThrow(refused);
  expect(() => limiter.admit('oldest', 2)).not.toThrow();
});
