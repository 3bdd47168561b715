import { expect, it } from 'vitest';
import { EnrolmentPlaces } from './enrolment-places.js';

const refused = expect.objectContaining({ code: 'RATE_LIMITED' });

it('a gateway has a part of the places, all of them together half of what the service has, and each gives its own back once', () => {
  const places = new EnrolmentPlaces();
  const [first] = Array.from({ length: 64 }, () => places.take('gateway-a'));
  expect(() => places.take('gateway-a')).toThrow(refused);
  for (let n = 0; n < 64; n += 1) places.take(`gateway-${n % 2 === 0 ? 'b' : 'c'}`);
  expect(() => places.take('gateway-d')).toThrow(refused);
  first?.();
  first?.();
  places.take('gateway-d');
  expect(() => places.take('gateway-d')).toThrow(refused);
});

it('a key asks ten times at once, then each ten seconds; and uses up nobody else’s questions, nor its own by another gateway', () => {
  const places = new EnrolmentPlaces();
  for (let n = 0; n < 10; n += 1) places.ask('gateway-a', 'key', 0);
  expect(() => places.ask('gateway-a', 'key', 9_999)).toThrow(refused);
  places.ask('gateway-a', 'other key', 9_999);
  places.ask('gateway-b', 'key', 9_999);
  places.ask('gateway-a', 'key', 10_001);
  expect(() => places.ask('gateway-a', 'key', 10_001)).toThrow(refused);
});

it('an agent that asks as often as agents do is never refused', () => {
  const places = new EnrolmentPlaces();
  const asks = (nowMs: number) => () => places.ask('gateway-a', 'key', nowMs);
  for (let nowMs = 0; nowMs < 3_600_000; nowMs += 15_000) expect(asks(nowMs)).not.toThrow();
});
