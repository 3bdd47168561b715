import type { Login } from './login-store.js';

/** A login is renewed when less than this part of its token's life is left. */
const LAST_PART = 1 / 5;

/**
 * What becomes of a stored login before it is used.
 * `keep`: it is used as it is. `renew`: a new token is to be had first. `wait`: its token has ended, and the issuer failed a moment ago.
 * `ended`: its token has ended, and nothing but another login helps.
 */
export type Renewal = 'keep' | 'renew' | 'wait' | 'ended';

/** Decides without asking anybody. */
export function renewalOf(login: Login, now: Date): Renewal {
  const { issued } = login;
  if (!issued) return 'keep';
  const nowMs = now.getTime();
  const [fromMs, untilMs] = [Date.parse(issued.obtainedAt), Date.parse(issued.expiresAt)];
  const leftMs = untilMs - nowMs;
  if (leftMs > (untilMs - fromMs) * LAST_PART) return 'keep';
  if (issued.refreshToken === undefined || Date.parse(issued.sessionEndsAt) <= nowMs) return orElse('ended', leftMs);
  if (issued.retryAt !== undefined && Date.parse(issued.retryAt) > nowMs) return orElse('wait', leftMs);
  return 'renew';
}

/** Whether its token is still good. */
export function isAlive({ issued }: Login, now: Date): boolean {
  return issued === undefined || Date.parse(issued.expiresAt) > now.getTime();
}

/** As long as the token lasts it is used. */
function orElse(otherwise: Renewal, leftMs: number): Renewal {
  return leftMs > 0 ? 'keep' : otherwise;
}
