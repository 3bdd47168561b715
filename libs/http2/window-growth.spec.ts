import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { GrowingWindow, Hurry } from './window-growth.js';

const KIB = 1024;
const growth = {
  busyMs: 8,
  maxStreamBytes: 1024 * KIB,
  maxUnprovenStreamBytes: 1024 * KIB,
  maxSessionBytes: 4096 * KIB,
  provenBytes: 8192 * KIB,
  maxProvenBytes: 8192 * KIB,
};
const BASE = 64 * KIB;

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

/** A window's worth is taken in quarters, this long after the last one. Returns what the stream is to have then. */
function empty(window: GrowingWindow, bytes: number, afterMs: number, hurry = new Hurry()): number {
  vi.advanceTimersByTime(afterMs);
  let target = 0;
  for (let quarter = 0; quarter < 4; quarter += 1) target = window.taken(bytes / 4, BASE, hurry, growth);
  return target;
}

/** It was emptied within a millisecond. */
const grown = (window: GrowingWindow | undefined, bytes: number, hurry: Hurry): number =>
  empty(window as GrowingWindow, bytes, 1 / 64, hurry);

describe('the window of a stream', () => {
  it('doubles while it is emptied within milliseconds, up to its bound', () => {
    const window = new GrowingWindow();
    empty(window, BASE, 1_000);
    const sizes: number[] = [];
    for (let size = BASE; sizes.length < 6; sizes.push(size)) size = empty(window, size, 1);
    expect(sizes).toEqual([2, 4, 8, 16, 16, 16].map((times) => times * BASE));
  });

  it('stays as it is while it lasts longer', () => {
    const window = new GrowingWindow();
    for (let round = 0; round < 5; round += 1) expect(empty(window, BASE, 9)).toBe(BASE);
  });

  it('stays as it is while less than all of it was taken', () => {
    const window = new GrowingWindow();
    empty(window, BASE, 1_000);
    vi.advanceTimersByTime(1);
    expect(window.taken(BASE - 1, BASE, new Hurry(), growth)).toBe(BASE);
  });

  it('gets no more than its share of those in a hurry, and never less than it began with', () => {
    const hurry = new Hurry();
    const windows = Array.from({ length: 16 }, () => new GrowingWindow());
    const sizes = windows.map(() => BASE);
    for (const window of windows) empty(window, BASE, 1_000, hurry);
    const round = (): void => windows.forEach((window, each) => (sizes[each] = grown(window, sizes[each] ?? 0, hurry)));
    for (let rounds = 0; rounds < 4; rounds += 1) round();
    expect(sizes).toEqual(windows.map(() => 256 * KIB));
    for (const window of windows.slice(1)) window.leave(hurry);
    expect(grown(windows[0], 256 * KIB, hurry)).toBe(512 * KIB);
    const crowd = Array.from({ length: 1_000 }, () => new GrowingWindow());
    for (const window of crowd) {
      empty(window, BASE, 1_000, hurry);
      grown(window, BASE, hurry);
    }
    expect(grown(windows[0], 512 * KIB, hurry)).toBe(BASE);
  });

  it('may have a larger share once its reader took much without a pause', () => {
    const hurry = new Hurry();
    hurry.streams = 15;
    const window = new GrowingWindow();
    empty(window, BASE, 2_000, hurry);
    let size = BASE;
    const sizes = new Set<number>();
    for (let took = 0; took < 12_000 * KIB; took += size) sizes.add((size = grown(window, size, hurry)));
    expect([...sizes].at(-2)).toBe(256 * KIB);
    expect(size).toBe(512 * KIB);
    expect(empty(window, size, 2_000, hurry)).toBe(256 * KIB);
  });

  it('stays smaller before that: who seems fast and then stalls holds it', () => {
    const careful = { ...growth, maxUnprovenStreamBytes: 256 * KIB };
    const hurry = new Hurry();
    const window = new GrowingWindow();
    let size = BASE;
    const sizes = new Set<number>();
    for (let took = 0; took < 12_000 * KIB; took += size) {
      vi.advanceTimersByTime(1);
      sizes.add((size = window.taken(size, BASE, hurry, careful)));
    }
    expect([...sizes]).toEqual([128, 256, 512, 1024].map((each) => each * KIB));
    expect(size).toBe(1024 * KIB);
  });

  it('is at least what all streams have now, if that has grown', () => {
    const window = new GrowingWindow();
    expect(window.taken(1, 8 * BASE, new Hurry(), growth)).toBe(8 * BASE);
  });
});
