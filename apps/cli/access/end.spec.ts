import { expect, it } from 'vitest';
import { durationSeconds } from '../commands/option-values.js';
import { endOf, endTime } from './end.js';

const now = new Date('2026-11-26T10:00:00Z');

it.each([
  ['90s', 90],
  ['10m', 600],
  ['2h', 7_200],
  ['4d', 345_600],
])('reads the duration %s', (text, seconds) => {
  expect(durationSeconds(text)).toBe(seconds);
});

it.each(['', '2w', '-1h', '1.5h', '4 d', 'd'])('refuses the duration %j', (text) => {
  expect(() => durationSeconds(text)).toThrow('Write it like');
});

it('counts a duration from now', () => {
  expect(endOf({ for: 345_600 }, now)).toBe('2026-11-30T10:00:00.000Z');
});

it.each([
  ['2026-12-01', '2026-12-01T23:59:59.000Z'],
  ['2026-12-01T18:00Z', '2026-12-01T18:00:00.000Z'],
  ['2026-12-01T18:00:30+02:00', '2026-12-01T16:00:30.000Z'],
  ['never', 'never'],
])('reads %s', (text, end) => {
  expect(endTime(text)).toBe(end);
});

it.each(['tomorrow', '2026-02-30', '2026-13-01', '2026-12-01T18:00', '01.12.2026', '2026-12-01T25:00Z', '', '2026'])(
  'refuses the time %j',
  (text) => {
    expect(() => endTime(text)).toThrow('Write it like');
  },
);

it('wants an end, or never', () => {
  expect(endOf({ until: 'never' }, now)).toBeNull();
  expect(() => endOf({}, now)).toThrow('it is not said how long it lasts');
});
