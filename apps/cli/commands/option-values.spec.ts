import { describe, expect, it } from 'vitest';
import { endTimeOrAge, entryCount, entryNumber, timeOrAge } from './option-values.js';

describe('the number of an entry', () => {
  it('may have more digits than an option: a log grows by millions', () => {
    expect(entryNumber('1')).toBe(1);
    expect(entryNumber('10000000')).toBe(10_000_000);
  });

  it.each(['0', '-1', '1.5', 'x', '', '1000000000000000'])('is not %j', (text) => {
    expect(() => entryNumber(text)).toThrow('is no number of an entry');
  });
});

it('so many entries may be none, and as many as a log has', () => {
  expect([entryCount('0'), entryCount('10000000')]).toEqual([0, 10_000_000]);
  for (const text of ['-1', '1.5', 'x', '', '1000000000000000'])
    expect(() => entryCount(text)).toThrow('Expected a whole number.');
});

describe('a time', () => {
  const now = new Date('2026-11-27T12:00:00Z');

  it.each([
    ['2026-11-27', '2026-11-27T00:00:00.000Z', '2026-11-28T00:00:00.000Z'],
    ['2026-11-27T08:00Z', '2026-11-27T08:00:00.000Z', '2026-11-27T08:00:00.000Z'],
    ['2026-11-27T08:00:00+02:00', '2026-11-27T06:00:00.000Z', '2026-11-27T06:00:00.000Z'],
    ['36h', '2026-11-26T00:00:00.000Z', '2026-11-26T00:00:00.000Z'],
  ])('%s begins at %s, and what ends there at %s: a day is a whole one', (text, from, until) => {
    expect([timeOrAge(text, now), endTimeOrAge(text, now)]).toEqual([from, until]);
  });

  it.each(['2026-11-31', '2026-02-29T08:00Z', '2026-13-01', '2026-11-27T08:00', '2026-11-27T25:00Z', 'yesterday', ''])(
    'is not %j',
    (text) => expect(() => timeOrAge(text, now)).toThrow('is no time'),
  );
});
