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
  for (;;) {
    const begun = performance.now();
    try {
      return await withDeadline(attempt, deadline);
    } catch (cause) {
      if (performance.now() + leastMs >= deadline) {
        const last = cause instanceof Error ? cause.message : String(cause);
        throw new Error(`still failing after ${timeoutMs} ms: ${last}`, { cause });
      }
    }
    const now = performance.now();
    // There is always time for a last try.
    await delay(Math.min(intervalMs ?? pauseAfterMs(now - begun), Math.max(leastMs, deadline - now - leastMs)));
  }
}

function pauseAfterMs(tookMs: number): number {
  return Math.min(PAUSE_MS.most, Math.max(PAUSE_MS.least, PAUSES_PER_TRY * tookMs));
}

/** A try that hangs must not outlast the deadline. */
async function withDeadline<T>(attempt: () => T | Promise<T>, deadline: number): Promise<T> {
  const stop = new AbortController();
  const late = delay(Math.max(0, deadline - performance.now()), undefined, { signal: stop.signal }).then(() => {
    throw new Error('the last try did not finish');
  });
  try {
    return await Promise.race([Promise.resolve().then(attempt), late]);
  } finally {
    stop.abort();
    late.catch(() => undefined);
  }
}
