import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { GrowingWindow } from './window-growth.js';

const KIB = 1024;
const growth = { busyMs: 8, maxStreamBytes: 1024 * KIB, maxSessionBytes: 4096 * KIB };
const BASE = 64 * KIB;

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

/** A window's worth is taken in quarters, this long after the last one. Returns what the stream is to have then. */
function empty(window: GrowingWindow, bytes: number, afterMs: number, openStreams = 1): number {
  vi.advanceTimersByTime(afterMs);
  let target = 0;
  for (let quarter = 0; quarter < 4; quarter += 1) target = window.taken(bytes / 4, BASE, openStreams, growth);
  return target;
}

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
    expect(window.taken(BASE - 1, BASE, 1, growth)).toBe(BASE);
  });

  it('gets no more than its share when many streams are open, and never less than they begin with', () => {
    const window = new GrowingWindow();
    empty(window, BASE, 1_000, 16);
    let size = BASE;
    for (let round = 0; round < 5; round += 1) size = empty(window, size, 1, 16);
    expect(size).toBe(256 * KIB);
    expect(empty(window, size, 1, 1_000)).toBe(BASE);
  });

  it('is at least what all streams have now, if that has grown', () => {
    const window = new GrowingWindow();
    expect(window.taken(1, 8 * BASE, 1, growth)).toBe(8 * BASE);
  });
});
