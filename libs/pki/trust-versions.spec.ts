import { expect, it } from 'vitest';
import { highestToSign, highestVersion } from './index.js';

const on = (date: string): Date => new Date(`${date}T00:00:00Z`);

it('is 1,000, and ten for each day since 2026, the same for everybody', () => {
  expect(['2026-01-01', '2026-01-02', '2027-01-01', '2046-01-01'].map((date) => highestVersion(on(date)))).toEqual([
    1_000, 1_010, 4_650, 74_050,
  ]);
});

it('is never less by a clock that is wrong, and never near what keys can count to', () => {
  expect(highestVersion(new Date(0))).toBe(1_000);
  expect(highestVersion(on('2400-01-01'))).toBe(1_000_000);
});

it('leaves keys a version above whatever anybody was given, some hours later', () => {
  for (const date of ['2026-11-22', '2031-05-01', '2060-01-01']) {
    const taken = highestVersion(on(date));
    const later = new Date(on(date).getTime() + 4 * 3_600_000);
    expect(highestToSign(later)).toBeGreaterThan(taken);
    // And who has a clock that is an hour behind takes it, too.
    expect(highestToSign(later)).toBeLessThanOrEqual(highestVersion(new Date(later.getTime() - 3_600_000)));
  }
});
