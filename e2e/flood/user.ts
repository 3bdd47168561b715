import { setTimeout as delay } from 'node:timers/promises';
import { ping, type Way } from '../support/transfers.js';

const PAUSE_MS = 20;

/** What a user's requests took, and those that failed. */
export interface Served {
  readonly ms: readonly number[];
  readonly failed: readonly string[];
}

/** A user that asks one thing after the other, each on a connection of its own, until `isOver` says so. */
export async function askUntil(way: Way, isOver: (asked: number) => boolean): Promise<Served> {
  const ms: number[] = [];
  const failed: string[] = [];
  for (let asked = 0; !isOver(asked); asked += 1) {
    const startedMs = performance.now();
    try {
      await ping(way);
      ms.push(performance.now() - startedMs);
    } catch (error) {
      failed.push(error instanceof Error ? error.message : String(error));
    }
    await delay(PAUSE_MS);
  }
  return { ms, failed };
}
