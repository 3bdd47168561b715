import { describe, expect, it } from 'vitest';
import { MachineSpeed, medianOf, scaled } from './machine-speed.js';

describe('a budget of CPU seconds', () => {
  it('grows with what the same work takes, and never shrinks', () => {
    expect(scaled(3_000, 40, 20)).toBe(6_000);
    expect(scaled(3_000, 20, 20)).toBe(3_000);
    expect(scaled(3_000, 10, 20)).toBe(3_000);
  });

  it('goes by the median: one slow moment is not the machine', () => {
    expect(medianOf([20, 500, 21])).toBe(21);
  });
});

it('is never faster than where timings were recorded', () => {
  expect(new MachineSpeed().slowness()).toBeGreaterThanOrEqual(1);
});

it('measures at least once', () => {
  expect(new MachineSpeed().end()).toBeGreaterThan(0);
});
