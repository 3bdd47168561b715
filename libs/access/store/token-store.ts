import { IsNull, LessThan, MoreThan, Or, type EntityManager } from 'typeorm';
import type { ApiTokenKind } from '../domain/token-identity.js';
import { ApiTokenRow } from './token-entities.js';

export type StoredApiToken = Readonly<ApiTokenRow>;

/** One that is neither revoked nor expired at `now`. */
export function findLivingToken(manager: EntityManager, tokenHash: string, now: Date): Promise<StoredApiToken | null> {
  return manager.findOneBy(ApiTokenRow, { tokenHash, ...living(now) });
}

/** All of those that are neither revoked nor expired at `now`. */
export function livingTokens(manager: EntityManager, now: Date): Promise<StoredApiToken[]> {
  return manager.findBy(ApiTokenRow, living(now));
}

const living = (now: Date) => ({ revokedAt: IsNull(), expiresAt: Or(IsNull(), MoreThan(now)) });

interface Named {
  readonly tenantId: string;
  readonly kind: ApiTokenKind;
  readonly name: string;
}

/** The one of this name that is not revoked; expired or not. */
export function findTokenByName(
  manager: EntityManager,
  { tenantId, kind, name }: Named,
): Promise<StoredApiToken | null> {
  return manager.findOneBy(ApiTokenRow, { tenantId, kind, name, revokedAt: IsNull() });
}

/** By id, those after `after`; the administrator's is not among them. */
export function listTokens(
  manager: EntityManager,
  tenantId: string,
  { after, limit }: { readonly after: string | undefined; readonly limit: number },
): Promise<StoredApiToken[]> {
  return manager.find(ApiTokenRow, {
    where: { tenantId, kind: 'token', ...(after === undefined ? {} : { id: MoreThan(after) }) },
    order: { id: 'asc' },
    take: limit,
  });
}

/** Until the transaction ends; the administrator's is none of them. */
export function lockToken(manager: EntityManager, tenantId: string, id: string): Promise<StoredApiToken | null> {
  return manager.findOne(ApiTokenRow, {
    where: { tenantId, kind: 'token', id },
    lock: { mode: 'pessimistic_write' },
  });
}

export function countTokens(manager: EntityManager, tenantId: string): Promise<number> {
  return manager.countBy(ApiTokenRow, { tenantId, kind: 'token' });
}

/** Those of them that are neither revoked nor expired at `now`. */
export function countLivingTokens(manager: EntityManager, tenantId: string, now: Date): Promise<number> {
  return manager.countBy(ApiTokenRow, { tenantId, kind: 'token', ...living(now) });
}

export async function insertToken(manager: EntityManager, token: StoredApiToken): Promise<void> {
  await manager.insert(ApiTokenRow, token);
}

export async function deleteToken(manager: EntityManager, id: string): Promise<void> {
  await manager.delete(ApiTokenRow, { id });
}

export async function markRevoked(manager: EntityManager, id: string, revokedAt: Date): Promise<void> {
  await manager.update(ApiTokenRow, { id }, { revokedAt });
}

/** Deletes what was revoked before. */
export async function deleteRevokedTokens(manager: EntityManager, tenantId: string, before: Date): Promise<void> {
  await manager.delete(ApiTokenRow, { tenantId, kind: 'token', revokedAt: LessThan(before) });
}

/** Never goes back. */
export async function markUsed(manager: EntityManager, ids: readonly string[], minute: Date): Promise<void> {
  await manager.query(
    `update api_tokens set last_used_at = $2
     where id = any($1::uuid[]) and (last_used_at is null or last_used_at < $2)`,
    [ids, minute],
  );
}
