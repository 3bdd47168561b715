import { describe, expect, it } from 'vitest';
import { median, spread } from './statistics.js';

describe('median', () => {
  it('is the middle value, whatever the order', () => {
    expect(median([9, 1, 5])).toBe(5);
  });

  it('of an even number is the mean of the two in the middle', () => {
    expect(median([4, 1, 2, 100])).toBe(3);
  });

  it('of nothing is nothing', () => {
    expect(median([])).toBeNull();
  });

  it('leaves the runs in their order', () => {
    const runs = [3, 1, 2];
    median(runs);
    expect(runs).toEqual([3, 1, 2]);
  });
});

describe('spread', () => {
  it('is the largest distance from the median, as a part of it', () => {
    expect(spread([90, 100, 150])).toBe(0.5);
    expect(spread([10, 100, 110])).toBe(0.9);
  });

  it('says nothing of one run, of none, or around zero', () => {
    expect(spread([5])).toBeNull();
    expect(spread([])).toBeNull();
    expect(spread([0, 0, 1])).toBeNull();
  });
});
