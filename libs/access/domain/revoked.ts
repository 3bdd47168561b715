import { MAX_TOKEN_STATEMENT_MS } from '@fairlead/access-statement';
import {
  MAX_LOGIN_STREAM_MS,
  userOfSubject,
  WORKLOAD_USER_PREFIX,
  type Grant,
  type Issuer,
  type Subject,
} from '@fairlead/contracts';

/** Statements that end before their time. `before`: those signed then or earlier, for kinds that go by it; `until`: by then they have ended of themselves. */
export interface Revoked {
  readonly kind: 'administrator' | 'token' | 'grant' | 'user' | 'logins';
  readonly value: string;
  readonly before: Date;
  readonly until: Date;
}

/** A clock of another replica of this service may be behind by so much when it signs. */
const LEEWAY_MS = 60_000;

/** What becomes worthless with a token that is revoked. */
export function revokedToken(kind: 'token' | 'administrator', tokenId: string, now: Date): Revoked {
  return { kind, value: tokenId, ...times(now, MAX_TOKEN_STATEMENT_MS) };
}

/** What a grant gave; nothing with a denial, whose end gives. */
export function revokedGrant({ id, effect, subject, expiresAt }: Grant, now: Date): Revoked[] {
  if (effect === 'deny' || subject.kind === 'client') return [];
  const { before, until } = times(now, longestOf(subject));
  const endMs = expiresAt === null ? Infinity : Date.parse(expiresAt) + LEEWAY_MS;
  return [{ kind: 'grant', value: id, before, until: new Date(Math.min(until.getTime(), endMs)) }];
}

/** What was signed before a denial was made: it does not say it. */
export function revokedByDenial({ effect, subject }: Grant, now: Date): Revoked[] {
  // Nothing is signed for a client.
  if (effect === 'allow' || subject.kind === 'client') return [];
  // Whose groups these are no statement says.
  return subject.kind === 'group'
    ? [revokedLogins('', now)]
    : [revokedUser(userOfSubject(subject), now, longestOf(subject))];
}

/** Of somebody who logged out, or left a group. */
export function revokedUser(user: string, now: Date, longestMs = MAX_LOGIN_STREAM_MS): Revoked {
  return { kind: 'user', value: user, ...times(now, longestMs) };
}

/** Of everybody whom an issuer vouched for. */
export function revokedIssuer({ kind, prefix }: Pick<Issuer, 'kind' | 'prefix'>, now: Date): Revoked {
  return revokedLogins(kind === 'workload' ? `${WORKLOAD_USER_PREFIX}${prefix}` : prefix, now);
}

function revokedLogins(prefix: string, now: Date): Revoked {
  return { kind: 'logins', value: prefix, ...times(now, MAX_LOGIN_STREAM_MS) };
}

function longestOf({ kind }: Subject): number {
  return kind === 'token' ? MAX_TOKEN_STATEMENT_MS : MAX_LOGIN_STREAM_MS;
}

function times(now: Date, longestMs: number): Pick<Revoked, 'before' | 'until'> {
  return { before: now, until: new Date(now.getTime() + longestMs + LEEWAY_MS) };
}
