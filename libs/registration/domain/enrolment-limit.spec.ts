import { expect, it } from 'vitest';
import { EnrolmentLimit } from './enrolment-limit.js';

const refused = expect.objectContaining({ code: 'RATE_LIMITED' });

it('a gateway has a part of the places, all of them together half of what the service has, and each gives its own back once', () => {
  const limit = new EnrolmentLimit();
  const [first] = Array.from({ length: 64 }, () => limit.take('gateway-a'));
  expect(() => limit.take('gateway-a')).toThrow(refused);
  for (let n = 0; n < 64; n += 1) limit.take(`gateway-${n % 2 === 0 ? 'b' : 'c'}`);
  expect(() => limit.take('gateway-d')).toThrow(refused);
  first?.();
  first?.();
  limit.take('gateway-d');
  expect(() => limit.take('gateway-d')).toThrow(refused);
});

it('a key asks ten times at once, then each ten seconds; and uses up nobody else’s questions, nor its own by another gateway', () => {
  const limit = new EnrolmentLimit();
  for (let n = 0; n < 10; n += 1) limit.ask('gateway-a', 'key', 0);
  expect(() => limit.ask('gateway-a', 'key', 9_999)).toThrow(refused);
  limit.ask('gateway-a', 'other key', 9_999);
  limit.ask('gateway-b', 'key', 9_999);
  limit.ask('gateway-a', 'key', 10_001);
  expect(() => limit.ask('gateway-a', 'key', 10_001)).toThrow(refused);
});

it('an agent that asks as often as agents do is never refused', () => {
  const limit = new EnrolmentLimit();
  const asks = (nowMs: number) => () => limit.ask('gateway-a', 'key', nowMs);
  for (let nowMs = 0; nowMs < 3_600_000; nowMs += 15_000) expect(asks(nowMs)).not.toThrow();
});
