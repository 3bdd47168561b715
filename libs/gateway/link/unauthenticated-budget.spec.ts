import { describe, expect, it } from 'vitest';
import { UnauthenticatedBudgets } from './unauthenticated-budget.js';

/** How often it says yes, of so many times. */
const granted = (times: number, ask: () => boolean): number =>
  Array.from({ length: times }, ask).filter(Boolean).length;
const KIB = 1024;

describe('what a peer may send that has not shown who it is', () => {
  it('has room for enrolling and for asking again, many times over', () => {
    const budget = new UnauthenticatedBudgets(() => 0).of('192.0.2.1');
    expect(granted(500, () => budget.mayCall())).toBe(500);
    expect(granted(2_000, () => budget.mayBeginFrame())).toBe(2_000);
    expect(granted(60, () => budget.mayRead(30 * KIB))).toBe(60);
  });

  it('is bounded for each connection, in calls, in frames and in bytes', () => {
    const budgets = new UnauthenticatedBudgets(() => 0);
    expect(granted(10_000, budgets.of('192.0.2.1').mayCall)).toBe(512);
    expect(granted(10_000, budgets.of('192.0.2.2').mayBeginFrame)).toBe(4_000);
    const reading = budgets.of('192.0.2.3');
    expect(granted(10_000, () => reading.mayRead(64 * KIB))).toBe(64);
  });

  it('counts a read as a frame, however little it brings', () => {
    const budget = new UnauthenticatedBudgets(() => 0).of('192.0.2.1');
    expect(granted(10_000, () => budget.mayRead(1) && budget.mayBeginFrame())).toBe(2_000);
  });

  it('ends who sends a frame in many small pieces, and nobody whose reads bring frames', () => {
    const budgets = new UnauthenticatedBudgets(() => 0);
    const dribbling = budgets.of('192.0.2.1');
    expect(granted(10_000, () => dribbling.mayRead(1))).toBe(128);
    const withFrames = budgets.of('192.0.2.2');
    const frameInTwo = (): boolean => withFrames.mayRead(9) && withFrames.mayRead(30) && withFrames.mayBeginFrame();
    expect(granted(1_000, frameInTwo)).toBe(1_000);
    const frameInThree = (): boolean => frameInTwo() && withFrames.mayRead(1);
    expect(granted(1_000, frameInThree)).toBeLessThan(200);
  });

  it('is bounded for each network, whose peers come again and again, and leaves others theirs', () => {
    let nowMs = 0;
    const budgets = new UnauthenticatedBudgets(() => nowMs);
    const perConnection = (address: string, connections: number): number[] =>
      Array.from({ length: connections }, () => granted(10_000, budgets.of(address).mayBeginFrame));
    expect(perConnection('2001:db8::1', 10)).toEqual([...Array.from({ length: 8 }, () => 4_000), 0, 0]);
    expect(perConnection('2001:db8::2', 1)).toEqual([0]);
    expect(perConnection('2001:db8:0:1::1', 1)).toEqual([4_000]);
    nowMs += 500;
    expect(perConnection('2001:db8::3', 2)).toEqual([2_000, 0]);
    expect([1, 2, 3].map(() => granted(10_000, budgets.of('192.0.2.9').mayCall))).toEqual([512, 512, 0]);
  });
});
