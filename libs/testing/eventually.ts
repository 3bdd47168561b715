import { setTimeout as delay } from 'node:timers/promises';

export interface EventuallyOptions {
  /** Default 60,000: what takes a second takes twenty on a slow machine with a full suite. */
  readonly timeoutMs?: number;
  /** Pause between tries. Default 50, and longer after a try that took long: one that starts a process would keep a core busy. */
  readonly intervalMs?: number;
}

const PAUSE_MS = { least: 50, most: 500 };
/** Tries take at most a quarter of the time that is waited. */
const PAUSES_PER_TRY = 3;

/**
 * Polls a real system until `attempt` returns without throwing, and returns its value. After the time is up it throws
 * with the last failure as the cause. Code with a clock of its own is tested with a fake clock instead.
 */
export async function eventually<T>(
  attempt: () => T | Promise<T>,
  { timeoutMs = 60_000, intervalMs }: EventuallyOptions = {},
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  const leastMs = intervalMs ?? PAUSE_MS.least;
  let failed: unknown;
  for (;;) {
    const begun = performance.now();
    try {
      return await withDeadline(attempt, deadline, failed);
    } catch (cause) {
      if (performance.now() + leastMs >= deadline) {
        throw new Error(`still failing after ${timeoutMs} ms: ${textOf(cause)}`, { cause });
      }
      if (!(cause instanceof Unfinished)) failed = cause;
    }
    const now = performance.now();
    // There is always time for a last try.
    await delay(Math.min(intervalMs ?? pauseAfterMs(now - begun), Math.max(leastMs, deadline - now - leastMs)));
  }
}

function pauseAfterMs(tookMs: number): number {
  return Math.min(PAUSE_MS.most, Math.max(PAUSE_MS.least, PAUSES_PER_TRY * tookMs));
}

function textOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

class Unfinished extends Error {}

/** A try that hangs must not outlast the deadline. `failed`: why the one before failed, if there was one. */
async function withDeadline<T>(attempt: () => T | Promise<T>, deadline: number, failed: unknown): Promise<T> {
  const stop = new AbortController();
  const late = delay(Math.max(0, deadline - performance.now()), undefined, { signal: stop.signal }).then(() => {
    const before = failed === undefined ? '' : `; the one before: ${textOf(failed)}`;
    throw new Unfinished(`the last try did not finish${before}`, { cause: failed });
  });
  try {
    return await Promise.race([Promise.resolve().then(attempt), late]);
  } finally {
    stop.abort();
    late.catch(() => undefined);
  }
}
