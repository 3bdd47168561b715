import { AccessEntry, fitPage, type Caller, type KnownUser, type Principal } from '@fairlead/contracts';
import { actorOf, commit, read, tell, type ServiceRuntime } from '@fairlead/events';
import type { EntityManager } from 'typeorm';
import {
  deleteLogin,
  deleteSession,
  findLogin,
  findLoginByHash,
  findSessionByHash,
  standingLogins,
  sweepLapsed,
  type StoredLogin,
} from '../store/login-store.js';
import { listUsers, type StoredUser } from '../store/user-store.js';

const PAGE_ROWS = 200;

type Ended = { readonly tokenId: string } | { readonly sessionHash: string };

/** Who is logged in now, and who was. */
export class StandingLogins {
  constructor(private readonly runtime: ServiceRuntime) {}

  /** Whose login's token hashes to this? Null: nobody's, or it has lapsed. Whether they are an administrator, grants say. */
  async principalOf(tokenHash: string): Promise<Omit<Principal, 'administrator'> | null> {
    const login = await read(this.runtime, (manager) => findLoginByHash(manager, tokenHash));
    return login && login.expiresAt > this.runtime.now() ? toAccessEntry(login) : null;
  }

  /** Ends a login with its session and all tokens of that. Again: no change. */
  async end(caller: Caller, ended: Ended): Promise<void> {
    await commit(this.runtime, async (manager) => {
      const found = await find(manager, ended);
      if (!found) return;
      const { sessionId, login } = found;
      const gone = sessionId === null ? await deleteLogin(manager, login.id) : await deleteSession(manager, sessionId);
      if (!gone) return;
      const { tenantId, issuer, userName: user } = login;
      const subject = `issuer/${issuer}`;
      const actor = { ...actorOf(caller), kind: 'user' as const, id: user };
      const event = { tenantId, issuer, user, subject, actor, reason: 'OK' };
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

  /** Deletes what has lapsed. Gateways tell by the clock when a login ends: this keeps tables and the bucket small. */
  async sweep(): Promise<void> {
    await commit(this.runtime, (manager) => sweepLapsed(manager, this.runtime.now()));
  }
}

/** What doors know of logins, by key of the bucket `access`. */
export async function loginEntries(manager: EntityManager, now: Date): Promise<[string, AccessEntry][]> {
  const logins = await standingLogins(manager, now);
  return logins.map((login) => {
    const entry = { ...toAccessEntry(login), tokenHash: login.tokenHash };
    return [`${login.tenantId}.token.${login.id}`, AccessEntry.parse(entry)];
  });
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

function toAccessEntry(login: StoredLogin) {
  const { id: tokenId, tenantId, userName: user, kind, subjectGroups, expiresAt } = login;
  return { tenantId, tokenId, user, groups: [], kind, subjectGroups, expiresAt: expiresAt.toISOString() };
}

function toKnownUser(row: StoredUser): KnownUser {
  const { id, tenantId, name, kind, issuer, groups } = row;
  const [firstLoginAt, lastLoginAt] = [row.firstLoginAt.toISOString(), row.lastLoginAt.toISOString()];
  return { id, tenantId, name, kind, issuer, groups, firstLoginAt, lastLoginAt };
}
