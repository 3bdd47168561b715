/** Bounds of a full-jitter backoff. */
export interface BackoffLimits {
  readonly baseMs: number;
  readonly capMs: number;
}

/**
 * Full jitter: the n-th wait is uniform in [0, min(cap, base * 2^n)), so that a crowd that lost one peer does not come
 * back in step. Source: AWS Architecture Blog, "Exponential Backoff and Jitter".
 */
export function fullJitterMs(attempt: number, limits: BackoffLimits, random: () => number = Math.random): number {
  const ceiling = Math.min(limits.capMs, limits.baseMs * 2 ** Math.min(attempt, 30));
  return Math.floor(random() * ceiling);
}
