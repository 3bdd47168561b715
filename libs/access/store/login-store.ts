import { LessThanOrEqual, MoreThan, type EntityManager } from 'typeorm';
import { LoginRow, SessionRow, SpentTokenRow } from './login-entities.js';

export type StoredSession = Readonly<SessionRow>;
export type StoredLogin = Readonly<LoginRow>;

/** False: this token was exchanged before. */
export async function spendToken(manager: EntityManager, hash: string, keepUntil: Date): Promise<boolean> {
  const sql = 'insert into spent_tokens (hash, keep_until) values ($1, $2) on conflict do nothing returning hash';
  const rows = (await manager.query(sql, [hash, keepUntil])) as unknown[];
  return rows.length === 1;
}

export async function insertSession(manager: EntityManager, session: StoredSession): Promise<void> {
  await manager.insert(SessionRow, session);
}

/** Keeps it from being ended until the transaction ends. */
export function holdSession(manager: EntityManager, secretHash: string): Promise<StoredSession | null> {
  return manager.findOne(SessionRow, { where: { secretHash }, lock: { mode: 'pessimistic_write' } });
}

/** Ends all sessions of this user but the newest ones, with their logins. */
export async function endOldSessions(
  manager: EntityManager,
  issuer: string,
  userName: string,
  keep: number,
): Promise<void> {
  await manager.query(
    `delete from sessions where id in (
       select id from sessions where issuer = $1 and user_name = $2 order by begun_at desc, id offset $3
     )`,
    [issuer, userName, keep],
  );
}

export async function insertLogin(manager: EntityManager, login: StoredLogin): Promise<void> {
  await manager.insert(LoginRow, login);
}

/** All logins of this user have these groups from now on. */
export async function regroupLogins(
  manager: EntityManager,
  { issuer, userName, subjectGroups }: Pick<StoredLogin, 'issuer' | 'userName' | 'subjectGroups'>,
): Promise<void> {
  await manager.update(LoginRow, { issuer, userName }, { subjectGroups });
}

export function findLogin(manager: EntityManager, id: string): Promise<StoredLogin | null> {
  return manager.findOneBy(LoginRow, { id });
}

/** One that is good at `now`. */
export function findLoginByHash(manager: EntityManager, tokenHash: string, now: Date): Promise<StoredLogin | null> {
  return manager.findOneBy(LoginRow, { tokenHash, expiresAt: MoreThan(now) });
}

export function findSessionByHash(manager: EntityManager, secretHash: string): Promise<StoredSession | null> {
  return manager.findOneBy(SessionRow, { secretHash });
}

/** With all its logins. False: it had ended. */
export async function deleteSession(manager: EntityManager, id: string): Promise<boolean> {
  const { affected } = await manager.delete(SessionRow, { id });
  return (affected ?? 0) > 0;
}

/** False: it had ended. */
export async function deleteLogin(manager: EntityManager, id: string): Promise<boolean> {
  const { affected } = await manager.delete(LoginRow, { id });
  return (affected ?? 0) > 0;
}

/** All that are good at `now`. */
export function standingLogins(manager: EntityManager, now: Date): Promise<StoredLogin[]> {
  return manager.findBy(LoginRow, { expiresAt: MoreThan(now) });
}

/** A session that goes on, with the groups that its user has now. */
export interface StandingSession {
  readonly tenantId: string;
  readonly sessionId: string;
  readonly user: string;
  readonly subjectGroups: readonly string[];
  readonly endsAt: Date;
}

/** All that have not ended at `now`. */
export function standingSessions(manager: EntityManager, now: Date): Promise<StandingSession[]> {
  return manager.query<StandingSession[]>(
    `select s.tenant_id as "tenantId", s.id as "sessionId", s.user_name as "user",
            u.group_names as "subjectGroups", s.ends_at as "endsAt"
       from sessions s
       join known_users u on u.tenant_id = s.tenant_id and u.name = s.user_name and u.issuer = s.issuer
      where s.ends_at > $1`,
    [now],
  );
}

/** Deletes what has lapsed; returns how many logins that were. */
export async function sweepLapsed(manager: EntityManager, now: Date): Promise<number> {
  const { affected } = await manager.delete(LoginRow, { expiresAt: LessThanOrEqual(now) });
  await manager.delete(SessionRow, { endsAt: LessThanOrEqual(now) });
  await manager.delete(SpentTokenRow, { keepUntil: LessThanOrEqual(now) });
  return affected ?? 0;
}
