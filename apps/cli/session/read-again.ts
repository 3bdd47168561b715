import { setTimeout as sleep } from 'node:timers/promises';
import { isPassing } from '../failure.js';

/** Before the second and the third attempt; each is shortened by up to a half, so that many do not come back in step. */
const PAUSES_MS = [500, 1_500];
/** No attempt begins later. */
const BUDGET_MS = 4_000;

/** Reads something again if it fails for what may pass. A service that restarts is often back within this. */
export async function readAgain<T>(read: () => Promise<T>): Promise<T> {
  const began = Date.now();
  for (const pauseMs of PAUSES_MS) {
    try {
      return await read();
    } catch (error) {
      const jitteredMs = pauseMs * (0.5 + Math.random() / 2);
      if (!isPassing(error) || Date.now() + jitteredMs - began > BUDGET_MS) throw error;
      await sleep(jitteredMs);
    }
  }
  return read();
}
