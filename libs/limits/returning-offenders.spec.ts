import { expect, it } from 'vitest';
import { ReturningOffenders } from './returning-offenders.js';

it('expects as many connections of a network back as were ended there, and none of another one', () => {
  const offenders = new ReturningOffenders(() => 0);
  offenders.note('192.0.2.1');
  offenders.note('::ffff:192.0.2.1');
  expect(offenders.take('192.0.2.2')).toBe(false);
  expect([1, 2, 3].map(() => offenders.take('192.0.2.1'))).toEqual([true, true, false]);
});

it('takes a /64 for one network', () => {
  const offenders = new ReturningOffenders(() => 0);
  offenders.note('2001:db8::1');
  expect(offenders.take('2001:db8:0:0')).toBe(true);
});

it('expects nobody any more after half a minute', () => {
  let nowMs = 0;
  const offenders = new ReturningOffenders(() => nowMs);
  offenders.note('192.0.2.1');
  offenders.note('192.0.2.1');
  nowMs = 30_000;
  expect(offenders.take('192.0.2.1')).toBe(true);
  nowMs = 30_001;
  expect(offenders.take('192.0.2.1')).toBe(false);
});

it('remembers a bounded number of one network, and of networks', () => {
  const offenders = new ReturningOffenders(() => 0);
  for (let n = 0; n < 2_000; n += 1) offenders.note('192.0.2.1');
  let taken = 0;
  while (offenders.take('192.0.2.1')) taken += 1;
  expect(taken).toBe(1_024);
  offenders.note('192.0.2.1');
  for (let n = 0; n < 10_000; n += 1) offenders.note(`10.0.${n >> 8}.${n & 255}`);
  expect(offenders.take('192.0.2.1')).toBe(false);
});
