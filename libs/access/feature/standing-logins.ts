import { fitPage, userOfSubject, type Caller, type KnownUser, type Subject } from '@fairlead/contracts';
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
import { findUser, listUsers, type StoredUser } from '../store/user-store.js';
import { actorOf, commit, read, tell, type Runtime } from './runtime.js';

const PAGE_ROWS = 200;

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
    const items = fitPage(rows.map(toKnownUser));
    const last = items.at(-1);
    const more = items.length < rows.length || rows.length === PAGE_ROWS;
    return last && more ? { items, next: last.id } : { items };
  }

  /** Deletes what has lapsed. Doors tell by the clock when a login ends: this keeps tables and the bucket small. */
  async sweep(): Promise<void> {
    await commit(this.runtime, (manager) => sweepLapsed(manager, this.runtime.now()));
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
