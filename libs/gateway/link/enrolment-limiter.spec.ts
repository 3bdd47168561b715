import { expect, it } from 'vitest';
import { EnrolmentLimiter } from './enrolment-limiter.js';

const refused = expect.objectContaining({ code: 'RATE_LIMITED' });

it('bears thirty failures per address and minute, and counts addresses apart', () => {
  const limiter = new EnrolmentLimiter();
  for (let i = 0; i < 1_000; i += 1) limiter.admit('192.0.2.1', 0);
  for (let i = 0; i < 30; i += 1) limiter.failed('192.0.2.1', 0);
  expect(() => limiter.admit('192.0.2.1', 60_000)).toThrow(refused);
  expect(() => limiter.admit('192.0.2.2', 60_000)).not.toThrow();
  expect(() => limiter.admit('192.0.2.1', 60_001)).not.toThrow();
});

it('remembers a bounded number of addresses, the newest', () => {
  const limiter = new EnrolmentLimiter();
  for (let i = 0; i < 30; i += 1) {
    limiter.failed('oldest', 0);
    limiter.failed('kept', 0);
  }
  for (let i = 0; i < 9_999; i += 1) limiter.failed(`address-${i}`, 1);
  expect(() => limiter.admit('kept', 2)).toThrow(refused);
  expect(() => limiter.admit('oldest', 2)).not.toThrow();
});
