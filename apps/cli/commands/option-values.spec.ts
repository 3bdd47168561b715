import { describe, expect, it } from 'vitest';
import { entryCount, entryNumber } from './option-values.js';

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
