import { fullJitterMs } from '@fairlead/clock';

export interface RetryRules {
  /** Attempts of a message, all in all. */
  readonly attempts: number;
  /** Before each attempt but the first, and added to what is drawn. */
  readonly leastMs: number;
  /** Bounds of what is drawn, with full jitter, twice as much after each attempt. */
  readonly baseMs: number;
  readonly capMs: number;
  /** No receiver may put us off for longer. */
  readonly maxRetryAfterMs: number;
}

/** Ten attempts, within 4.3 hours at most and about 2 on average. */
export const RETRY_RULES: RetryRules = {
  attempts: 10,
  leastMs: 5_000,
  baseMs: 30_000,
  capMs: 6 * 3_600_000,
  maxRetryAfterMs: 3_600_000,
};

/** How long to wait after so many attempts that failed; null: that was the last one. `retryAfter`: the header of that name, if one came. */
export function waitAfter(
  made: number,
  retryAfter: string | undefined,
  now: Date,
  rules: RetryRules = RETRY_RULES,
  random: () => number = Math.random,
): number | null {
  if (made >= rules.attempts) return null;
  const backoffMs = rules.leastMs + fullJitterMs(made - 1, rules, random);
  return Math.max(backoffMs, Math.min(retryAfterMs(retryAfter, now), rules.maxRetryAfterMs));
}

/** Seconds, or a date. Source: RFC 9110, 10.2.3. Anything else is nothing. */
function retryAfterMs(header: string | undefined, now: Date): number {
  if (header === undefined) return 0;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  const at = /^[A-Z][a-z]{2}, /.test(header) ? Date.parse(header) : NaN;
  return Number.isNaN(at) ? 0 : Math.max(0, at - now.getTime());
}
