import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sessionPair, type SessionPair } from '../testing/tunnel-pair.js';
import { keepAlive } from './index.js';

const bounds = { intervalMs: 50, timeoutMs: 150 };
let pair: SessionPair;

beforeEach(async () => {
  pair = await sessionPair();
});

afterEach(() => pair[Symbol.asyncDispose]());

describe('a session that is watched', () => {
  it('stands while its peer answers', async () => {
    keepAlive(pair.client, bounds);
    await delay(600);
    expect(pair.client.destroyed).toBe(false);
  });

  it('ends when its peer falls silent, though TCP stands', async () => {
    const { client: stream } = await pair.stream();
    keepAlive(pair.client, bounds);
    pair.blackhole();
    const beganMs = performance.now();
    await new Promise<void>((resolve) => stream.onceClosed(resolve));
    expect(performance.now() - beganMs).toBeLessThan(1_500);
    expect(pair.client.destroyed).toBe(true);
  });
});
