import { pageOf, userOfSubject, type Caller, type KnownUser, type Subject } from '@fairlead/contracts';
import { inTransaction } from '@fairlead/persistence';
import type { EntityManager } from 'typeorm';
import { revokedToken, revokedUser } from '../domain/revoked.js';
import {
  deleteLogin,
  deleteSession,
  findLogin,
  findSessionByHash,
  sweepLapsed,
  type StoredLogin,
} from '../store/login-store.js';
import { addRevoked } from '../store/revocation-store.js';
import { findUser, forgetUsers, listUsers, type StoredUser } from '../store/user-store.js';
import { actorOf, commit, read, tell, type Runtime } from './runtime.js';

const PAGE_ROWS = 200;
const DAY_MS = 86_400_000;
/**
 * How long somebody is known after their last login, and after all that came of it. Two things go by what is known, and both need it for a day or so:
 * an older token of theirs brings no older groups (no token is taken that is older than a day), and who left a group has statements taken back (those
 * end within 12 hours). Denials and grants go by names, so they count for whoever was forgotten, too. The rest is for people who look: as long as they
 * may ask who could do what; and programs only until a pipeline that runs once a month was seen again, as each branch can be a name of its own.
 */
const KNOWN_MS = { user: 90 * DAY_MS, workload: 35 * DAY_MS };
const FORGET_BATCH = 1_000;

/** What is to be ended: one login by its id, or a session by the hash of its secret. */
export type Ended = { readonly tokenId: string } | { readonly sessionHash: string };

/** Who is logged in now, and who was. */
export class StandingLogins {
  constructor(private readonly runtime: Runtime) {}

  /** Ends a login with its session and all tokens of that. Again: no change. */
  async end(caller: Caller, ended: Ended): Promise<void> {
    await commit(this.runtime, async (manager) => {
      const found = await find(manager, ended);
      if (!found) return;
      const { sessionId, login } = found;
      const gone = sessionId === null ? await deleteLogin(manager, login.id) : await deleteSession(manager, sessionId);
      if (!gone) return;
      const { tenantId, issuer, userName: user } = login;
      const now = this.runtime.now();
      const revoked = sessionId === null ? revokedToken('token', login.id, now) : revokedUser(user, now);
      await addRevoked(manager, tenantId, [revoked]);
      const actor = { ...actorOf(caller), kind: 'user' as const, id: user };
      const event = { tenantId, issuer, user, subject: `issuer/${issuer}`, actor, reason: 'OK' };
      await tell(this.runtime, manager, 'dev.fairlead.login.ended.v1', event);
    });
  }

  /** As many as fit in an answer; `next` is the id to go on after. */
  async users(tenantId: string, after?: string): Promise<{ items: KnownUser[]; next?: string }> {
    const rows = await read(this.runtime, (manager) => listUsers(manager, tenantId, after, PAGE_ROWS));
    return pageOf(rows.map(toKnownUser), PAGE_ROWS, ({ id }) => id);
  }

  /**
   * Deletes what has lapsed, and then who was not seen for long. Doors tell by the clock when a login ends: this keeps tables and the bucket small. True
   * if there may be more.
   */
  async sweep(): Promise<boolean> {
    const now = this.runtime.now();
    await commit(this.runtime, (manager) => sweepLapsed(manager, now));
    let more = false;
    for (const kind of ['user', 'workload'] as const) {
      const seenBefore = new Date(now.getTime() - KNOWN_MS[kind]);
      // No door hears of it, so nothing follows from it.
      const forgotten = await inTransaction(this.runtime.database, (manager) =>
        forgetUsers(manager, kind, seenBefore, FORGET_BATCH),
      );
      more ||= forgotten === FORGET_BATCH;
    }
    return more;
  }
}

/** The groups that somebody's newest token named; none of whoever never logged in. */
export async function groupsOfLastLogin(
  manager: EntityManager,
  tenantId: string,
  subject: Subject,
): Promise<readonly string[]> {
  const user = await findUser(manager, tenantId, userOfSubject(subject));
  return user?.kind === subject.kind ? user.groups : [];
}

async function find(
  manager: EntityManager,
  ended: Ended,
): Promise<{ sessionId: string | null; login: Pick<StoredLogin, 'id' | 'tenantId' | 'issuer' | 'userName'> } | null> {
  if ('tokenId' in ended) {
    const login = await findLogin(manager, ended.tokenId);
    return login && { sessionId: login.sessionId, login };
  }
  const session = await findSessionByHash(manager, ended.sessionHash);
  return session && { sessionId: session.id, login: session };
}

function toKnownUser(row: StoredUser): KnownUser {
  const { id, tenantId, name, kind, issuer, groups } = row;
  const [firstLoginAt, lastLoginAt] = [row.firstLoginAt.toISOString(), row.lastLoginAt.toISOString()];
  return { id, tenantId, name, kind, issuer, groups, firstLoginAt, lastLoginAt };
}
