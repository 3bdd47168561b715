import { describe, expect, it } from 'vitest';
import { limitedUntil, retryAfterMs, type Headers } from './rate-limit.js';

const NOW = Date.UTC(2026, 10, 22, 12);
const reset = (seconds: number) => String(NOW / 1_000 + seconds);

describe('a limit that a host says', () => {
  it.each<[string, number, Headers, number | null]>([
    ['429 with seconds', 429, { 'retry-after': '30' }, 30],
    ['429 with a date', 429, { 'retry-after': new Date(NOW + 90_000).toUTCString() }, 90],
    ['429 and nothing else', 429, {}, 60],
    ['429 and nonsense', 429, { 'retry-after': 'soon' }, 60],
    ['429 with a date that has passed', 429, { 'retry-after': new Date(NOW - 90_000).toUTCString() }, 1],
    ['429 for years', 429, { 'retry-after': '999999999' }, 3_600],
    ['GitHub, primary', 403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset(900) }, 900],
    ['GitHub, secondary', 403, { 'x-ratelimit-remaining': '4000', 'retry-after': '60' }, 60],
    ['GitHub, no right', 403, { 'x-ratelimit-remaining': '4000', 'x-ratelimit-reset': reset(900) }, null],
    ['GitLab', 429, { 'ratelimit-remaining': '0', 'ratelimit-reset': reset(12) }, 12],
    ['a reset that is nonsense', 429, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1e99' }, 60],
    ['no limit', 200, { 'x-ratelimit-remaining': '0', 'retry-after': '5' }, null],
    ['a failure', 503, { 'retry-after': '5' }, null],
  ])('%s', (_, status, headers, seconds) => {
    expect(limitedUntil(status, headers, NOW)).toBe(seconds === null ? null : NOW + seconds * 1_000);
  });

  it('takes no date but one in the form of HTTP', () => {
    expect(retryAfterMs({ 'retry-after': '2030-01-01' }, NOW)).toBeNull();
    expect(retryAfterMs({ 'retry-after': '-5' }, NOW)).toBeNull();
  });
});
