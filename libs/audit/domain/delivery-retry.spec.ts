import { expect, it } from 'vitest';
import { RETRY_RULES, waitAfter } from './delivery-retry.js';

const now = new Date('2026-03-01T08:00:00Z');
const wait = (made: number, retryAfter?: string, random = 1): number | null =>
  waitAfter(made, retryAfter, now, RETRY_RULES, () => random);

it('waits longer after each attempt, and gives up after ten', () => {
  expect(wait(1)).toBe(35_000);
  expect(wait(2)).toBe(65_000);
  expect(wait(9)).toBe(5_000 + 30_000 * 256);
  expect(wait(10)).toBeNull();
  expect(wait(1, undefined, 0)).toBe(5_000);
});

it('waits as long as the receiver asks for, and no longer than an hour for that', () => {
  expect(wait(1, '120', 0)).toBe(120_000);
  expect(wait(1, '1', 0)).toBe(5_000);
  expect(wait(1, '999999', 0)).toBe(3_600_000);
  expect(wait(1, 'Sun, 01 Mar 2026 08:10:00 GMT', 0)).toBe(600_000);
  expect(wait(1, 'Sun, 01 Mar 2020 08:10:00 GMT', 0)).toBe(5_000);
  for (const nonsense of ['soon', '-5', '1e9', '']) expect(wait(1, nonsense, 0)).toBe(5_000);
  expect(wait(10, '120')).toBeNull();
});
