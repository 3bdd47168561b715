import {
  MAX_LOGIN_STREAM_MS,
  type AccessBucketEntry,
  type AccessEntry,
  type LoginSessionEntry,
} from '@fairlead/contracts';
import { isDeepStrictEqual } from 'node:util';
import type { Proven } from './grants-index.js';

/** Somebody who was let in by a token, and when. */
export interface LetIn {
  readonly principal: AccessEntry;
  readonly atMs: number;
}

interface Session {
  readonly endsAtMs: number;
  /** Whose it is: one object, for as long as the session does not change. */
  readonly proven: Proven;
}

/**
 * Whose secret is it, and which sessions of people go on: the bucket `access`, as doors decide by it. A token opens, until its end. A session opens
 * nothing: what a token of it began goes on with it. Pure memory; times are milliseconds since the epoch.
 */
export class AccessIndex {
  readonly #byHash = new Map<string, AccessEntry>();
  readonly #hashByKey = new Map<string, string>();
  readonly #sessions = new Map<string, Session>();
  readonly #sessionByKey = new Map<string, string>();

  /** What the bucket has below this key now; undefined: nothing any more. */
  set(key: string, entry: AccessBucketEntry | undefined): void {
    this.#forget(key);
    if (!entry) return;
    if ('tokenHash' in entry) {
      this.#byHash.set(entry.tokenHash, entry);
      this.#hashByKey.set(key, entry.tokenHash);
    } else {
      this.#sessions.set(entry.sessionId, toSession(entry));
      this.#sessionByKey.set(key, entry.sessionId);
    }
  }

  /** Whose secret hashes (SHA-256, base64) to this, if it has not ended. */
  principalOf(tokenHash: string, nowMs: number): AccessEntry | undefined {
    const entry = this.#byHash.get(tokenHash);
    return entry && endOf(entry) > nowMs ? entry : undefined;
  }

  /**
   * Who somebody who was let in is by now, by the same token, or else by its session: what they are granted, and by which groups of their issuer, may
   * have changed since. Undefined: what let them in has gone or ended, or would make them somebody else.
   */
  stillOf({ principal, atMs }: LetIn, nowMs: number): Proven | undefined {
    const entry = this.principalOf(principal.tokenHash, nowMs);
    if (entry) return isSame(entry, principal) ? entry : undefined;
    const session = this.#sessionOf(principal);
    return session && goesOn(session, atMs, nowMs) ? session.proven : undefined;
  }

  /** Has the time come of what let them in, by what is known of it? Not so if nothing is known. */
  hasEnded({ principal, atMs }: LetIn, nowMs: number): boolean {
    if (this.principalOf(principal.tokenHash, nowMs)) return false;
    const session = this.#sessionOf(principal);
    return session ? !goesOn(session, atMs, nowMs) : this.#byHash.has(principal.tokenHash);
  }

  #sessionOf({ sessionId, tenantId, kind, user }: AccessEntry): Session | undefined {
    const session = sessionId === undefined ? undefined : this.#sessions.get(sessionId);
    const whose = session?.proven;
    return whose?.tenantId === tenantId && whose.kind === kind && whose.user === user ? session : undefined;
  }

  #forget(key: string): void {
    this.#byHash.delete(this.#hashByKey.get(key) ?? '');
    this.#hashByKey.delete(key);
    this.#sessions.delete(this.#sessionByKey.get(key) ?? '');
    this.#sessionByKey.delete(key);
  }
}

function toSession({ tenantId, user, subjectGroups, endsAt }: LoginSessionEntry): Session {
  return { endsAtMs: Date.parse(endsAt), proven: { tenantId, kind: 'login', user, subjectGroups } };
}

function endOf({ expiresAt }: AccessEntry): number {
  return expiresAt === null ? Infinity : Date.parse(expiresAt);
}

function isSame(entry: AccessEntry, { kind, user, groups }: AccessEntry): boolean {
  return entry.user === user && entry.kind === kind && isDeepStrictEqual(entry.groups, groups);
}

function goesOn({ endsAtMs }: Session, sinceMs: number, nowMs: number): boolean {
  return nowMs < endsAtMs && nowMs - sinceMs < MAX_LOGIN_STREAM_MS;
}
