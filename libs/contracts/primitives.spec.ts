import { expect, it } from 'vitest';
import { IsoTime } from './primitives.js';

it.each([
  ['1970-01-01T00:00:00.000Z', true],
  ['0001-01-01T00:00:00Z', true],
  // Postgres refuses it, and a record with it would be tried again for ever.
  ['0000-12-31T23:59:59.999Z', false],
  ['2026-02-30T00:00:00Z', false],
])('the time %s is taken: %s', (time, taken) => {
  expect(IsoTime.safeParse(time).success).toBe(taken);
});
