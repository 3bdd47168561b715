import { setTimeout as delay } from 'node:timers/promises';

export interface EventuallyOptions {
  /** Default 20,000. */
  readonly timeoutMs?: number;
  /** Pause between tries, default 50. */
  readonly intervalMs?: number;
}

/**
 * Polls a real system until `attempt` returns without throwing, and returns its value. After the time is up it throws
 * with the last failure as the cause. Code with a clock of its own is tested with a fake clock instead.
 */
export async function eventually<T>(
  attempt: () => T | Promise<T>,
  { timeoutMs = 20_000, intervalMs = 50 }: EventuallyOptions = {},
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await withDeadline(attempt, deadline);
    } catch (cause) {
      if (performance.now() + intervalMs >= deadline) {
        const last = cause instanceof Error ? cause.message : String(cause);
        throw new Error(`still failing after ${timeoutMs} ms: ${last}`, { cause });
      }
    }
    await delay(intervalMs);
  }
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
