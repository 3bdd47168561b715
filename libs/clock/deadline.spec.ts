import { getEventListeners } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { startDeadline } from './index.js';

const late = (): Error => new Error('late');

describe('startDeadline', () => {
  it('aborts when its time is up, and leaves nothing at the outer signal', () => {
    vi.useFakeTimers();
    try {
      const outer = new AbortController();
      const { signal } = startDeadline(outer.signal, 100, late);
      vi.advanceTimersByTime(99);
      expect(signal.aborted).toBe(false);
      vi.advanceTimersByTime(1);
      expect(signal.reason).toEqual(late());
      expect(getEventListeners(outer.signal, 'abort')).toHaveLength(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it('aborts with the reason of the outer signal, also one that was aborted before', () => {
    const reason = new Error('gone');
    const outer = new AbortController();
    const { signal } = startDeadline(outer.signal, 60_000, late);
    outer.abort(reason);
    expect(signal.reason).toBe(reason);
    expect(startDeadline(outer.signal, 60_000, late).signal.reason).toBe(reason);
  });

  it('says nothing more once it was cleared', () => {
    vi.useFakeTimers();
    try {
      const outer = new AbortController();
      const deadline = startDeadline(outer.signal, 100, late);
      deadline.clear();
      deadline.clear();
      vi.advanceTimersByTime(1_000);
      outer.abort();
      expect(deadline.signal.aborted).toBe(false);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});
