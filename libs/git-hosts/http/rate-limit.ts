/** Header names in lower case; of a repeated one the values are joined by a comma and a space. */
export type Headers = Readonly<Record<string, string>>;

// Said by nobody, or nonsense: GitHub asks for a minute at least (docs.github.com, "Rate limits for the REST API").
const DEFAULT_WAIT_MS = 60_000;
const MIN_WAIT_MS = 1_000;
// The longest window that a host documents is an hour; a lie beyond that must not stop us for longer.
const MAX_WAIT_MS = 3_600_000;

/**
 * Until when (milliseconds since 1970) the host wants no more requests, or null if the answer says no such thing.
 *
 * 429 always does; 403 where GitHub means its primary limit (`x-ratelimit-remaining: 0`) or its secondary one (`retry-after`).
 * The wait is between a second and an hour, whatever the host says. Sources:
 * https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api,
 * https://docs.gitlab.com/administration/settings/user_and_ip_rate_limits/ (`RateLimit-Reset`), RFC 9110 section 10.2.3.
 */
export function limitedUntil(status: number, headers: Headers, nowMs: number): number | null {
  const spent = headers['x-ratelimit-remaining'] === '0' || headers['ratelimit-remaining'] === '0';
  const isLimit = status === 429 || (status === 403 && (spent || headers['retry-after'] !== undefined));
  if (!isLimit) return null;
  const wait = retryAfterMs(headers, nowMs) ?? (spent ? resetMs(headers, nowMs) : null) ?? DEFAULT_WAIT_MS;
  return nowMs + Math.min(MAX_WAIT_MS, Math.max(MIN_WAIT_MS, wait));
}

/** `Retry-After`, in seconds or as a date, as milliseconds from now; null if absent or neither. */
export function retryAfterMs(headers: Headers, nowMs: number): number | null {
  const text = headers['retry-after'];
  if (text === undefined) return null;
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  const at = text.endsWith('GMT') ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : at - nowMs;
}

function resetMs(headers: Headers, nowMs: number): number | null {
  const text = headers['x-ratelimit-reset'] ?? headers['ratelimit-reset'] ?? '';
  return /^\d{9,11}$/.test(text) ? Number(text) * 1_000 - nowMs : null;
}
