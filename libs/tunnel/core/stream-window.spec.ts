import { describe, expect, it } from 'vitest';
import { LIMITS } from './limits.js';
import { streamWindow } from './stream-window.js';

const KiB = 1024;
const MiB = 1024 * KiB;

describe('the window of a stream', () => {
  it.each([
    ['loopback', 0.2, LIMITS.minStreamWindowBytes],
    ['a city', 8, MiB],
    ['a continent', 50, 4 * MiB],
    ['a satellite', 600, LIMITS.maxStreamWindowBytes],
  ])('holds what is on its way: %s', (_, roundTripMs, bytes) => {
    expect(streamWindow(roundTripMs, 1)).toBe(bytes);
  });

  it.each([
    [32, 4 * MiB],
    [33, 2 * MiB],
    [128, MiB],
    [1024, LIMITS.minStreamWindowBytes],
  ])('is a share when %i streams are open', (openStreams, bytes) => {
    expect(streamWindow(50, openStreams)).toBe(bytes);
  });

  it('leaves room in the connection when a full link fills up and every stream of it stalls', () => {
    let held = 0;
    for (let open = 1; open <= LIMITS.tunnelsPerLink; open += 1) held += streamWindow(10_000, open);
    expect(held).toBeLessThan(LIMITS.connectionWindowBytes);
  });
});
