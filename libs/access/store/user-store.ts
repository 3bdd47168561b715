import { MoreThan, type EntityManager } from 'typeorm';
import { KnownUserRow } from './login-entities.js';

export type StoredUser = Readonly<KnownUserRow>;

/** What a login says of its user. */
export interface SeenUser {
  readonly tenantId: string;
  readonly name: string;
  readonly kind: 'user' | 'workload';
  readonly issuer: string;
  readonly groups: readonly string[];
  /** When the token was issued that says so. */
  readonly groupsAsOf: Date;
  readonly now: Date;
}

/** Remembers a login; returns the groups that are known now: of the newest token, which need not be this one. */
export async function rememberUser(manager: EntityManager, seen: SeenUser): Promise<string[]> {
  const rows = (await manager.query(
    `insert into known_users as u
       (id, tenant_id, name, kind, issuer, group_names, groups_as_of, first_login_at, last_login_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $8)
     on conflict (tenant_id, name) do update set
       group_names = case when excluded.groups_as_of >= u.groups_as_of or excluded.issuer <> u.issuer
                          then excluded.group_names else u.group_names end,
       groups_as_of = case when excluded.issuer <> u.issuer
                           then excluded.groups_as_of else greatest(u.groups_as_of, excluded.groups_as_of) end,
       issuer = excluded.issuer, kind = excluded.kind, last_login_at = excluded.last_login_at
     returning group_names`,
    [
      crypto.randomUUID(),
      seen.tenantId,
      seen.name,
      seen.kind,
      seen.issuer,
      [...seen.groups],
      seen.groupsAsOf,
      seen.now,
    ],
  )) as { group_names: string[] }[];
  return rows[0]?.group_names ?? [...seen.groups];
}

/**
 * Forgets those of a kind who logged in last before `seenBefore`, at most `limit`, and says how many they were. Who has a session or a login stays:
 * doors are told the groups of a session by its user's row.
 */
export async function forgetUsers(
  manager: EntityManager,
  kind: StoredUser['kind'],
  seenBefore: Date,
  limit: number,
): Promise<number> {
  // Looked at twice: who logs in meanwhile has changed their row, and is kept.
  const [, count] = (await manager.query(
    `delete from known_users where last_login_at < $2 and id in (
       select u.id from known_users u
        where u.kind = $1 and u.last_login_at < $2
          and not exists (select from sessions s where s.issuer = u.issuer and s.user_name = u.name)
          and not exists (select from logins l where l.issuer = u.issuer and l.user_name = u.name)
        order by u.last_login_at limit $3)`,
    [kind, seenBefore, limit],
  )) as [unknown[], number];
  return count;
}

/** By id. */
export function listUsers(
  manager: EntityManager,
  tenantId: string,
  after: string | undefined,
  limit: number,
): Promise<StoredUser[]> {
  const where = after === undefined ? { tenantId } : { tenantId, id: MoreThan(after) };
  return manager.find(KnownUserRow, { where, order: { id: 'ASC' }, take: limit });
}

export function findUser(manager: EntityManager, tenantId: string, name: string): Promise<StoredUser | null> {
  return manager.findOneBy(KnownUserRow, { tenantId, name });
}
