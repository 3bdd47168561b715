import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fullJitterMs, systemClock } from './index.js';

describe('fullJitterMs', () => {
  it('stays below both the cap and the exponential ceiling', () => {
    fc.assert(
      fc.property(fc.nat(1000), fc.double({ min: 0, max: 0.999999, noNaN: true }), (attempt, random) => {
        const wait = fullJitterMs(attempt, { baseMs: 100, capMs: 5000 }, () => random);
        return wait >= 0 && wait < 5000 && wait <= 100 * 2 ** Math.min(attempt, 30);
      }),
    );
  });

  it('uses the whole range, down to zero', () => {
    expect(fullJitterMs(4, { baseMs: 100, capMs: 5000 }, () => 0)).toBe(0);
    expect(fullJitterMs(4, { baseMs: 100, capMs: 5000 }, () => 0.5)).toBe(800);
  });
});

describe('systemClock.sleep', () => {
  it('ends at once when the signal is or becomes aborted', async () => {
    const reason = new Error('stopped');
    await expect(systemClock.sleep(60_000, AbortSignal.abort(reason))).rejects.toBe(reason);
    const controller = new AbortController();
    const sleeping = systemClock.sleep(60_000, controller.signal);
    controller.abort(reason);
    await expect(sleeping).rejects.toBe(reason);
  });
});
