import { describe, expect, it } from 'vitest';
import { entryNumber } from './option-values.js';

describe('the number of an entry', () => {
  it('may have more digits than an option: a log grows by millions', () => {
    expect(entryNumber('1')).toBe(1);
    expect(entryNumber('10000000')).toBe(10_000_000);
  });

  it.each(['0', '-1', '1.5', 'x', '', '1000000000000000'])('is not %j', (text) => {
    expect(() => entryNumber(text)).toThrow('is no number of an entry');
  });
});
