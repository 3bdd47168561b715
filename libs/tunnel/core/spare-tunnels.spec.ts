import { describe, expect, it } from 'vitest';
import { LIMITS } from './limits.js';
import { SpareTunnels } from './spare-tunnels.js';

describe('the spare tunnels of a link', () => {
  it('are one while nothing happens, and one use alone asks for nothing', () => {
    const spare = new SpareTunnels();
    expect(spare.desired).toBe(1);
    // The agent parks the next one by itself.
    expect(spare.used(1)).toBe(0);
    expect(spare.calm(1)).toBe(0);
  });

  it('double with each one that had to wait, up to the limit', () => {
    const spare = new SpareTunnels();
    expect(spare.missed(0)).toBe(2);
    // Two are on their way, four are wanted.
    expect(spare.missed(0)).toBe(2);
    for (let i = 0; i < 10; i += 1) expect(spare.missed(0)).toBeGreaterThan(0);
    expect(spare.desired).toBe(LIMITS.maxSpareTunnels);
  });

  it('are asked for many at once, when half of them are used', () => {
    const spare = new SpareTunnels();
    spare.missed(0);
    spare.missed(0);
    spare.missed(0);
    for (let i = 0; i < 8; i += 1) spare.arrived();
    expect([7, 6, 5, 4].map((parked) => spare.used(parked))).toEqual([0, 0, 0, 0]);
    expect(spare.used(3)).toBe(5);
    expect(spare.used(2)).toBe(0);
  });

  it('halve with each calm while, and those beyond can go', () => {
    const spare = new SpareTunnels();
    spare.missed(0);
    spare.missed(0);
    expect(spare.desired).toBe(4);
    // Somebody waited in this while.
    expect(spare.calm(4)).toBe(0);
    expect(spare.calm(4)).toBe(2);
    expect(spare.calm(2)).toBe(1);
    expect(spare.desired).toBe(1);
  });
});
