import { IsNull, LessThan, MoreThan, type EntityManager } from 'typeorm';
import type { Place } from '@fairlead/contracts';
import type { PresentedToken } from '../domain/decide-enrolment.js';
import { BootstrapTokenRow, ImportLinkRow } from './entities.js';

export type StoredBootstrapToken = Readonly<BootstrapTokenRow>;
export type StoredImportLink = Readonly<ImportLinkRow>;

export async function insertBootstrapToken(
  manager: EntityManager,
  token: Pick<StoredBootstrapToken, 'id' | 'tenantId' | 'clusterId' | 'secretHash' | 'proofKey' | 'expiresAt'>,
): Promise<void> {
  await manager.insert(BootstrapTokenRow, token);
}

export function findBootstrapToken(manager: EntityManager, id: string): Promise<StoredBootstrapToken | null> {
  return manager.findOneBy(BootstrapTokenRow, { id });
}

/** Reads a token and keeps it from changing until the transaction ends. */
export function lockBootstrapToken(manager: EntityManager, id: string): Promise<StoredBootstrapToken | null> {
  return manager.findOne(BootstrapTokenRow, { where: { id }, lock: { mode: 'pessimistic_write' } });
}

/** `generation` is null while the key waits for an approval. */
export async function bindBootstrapToken(
  manager: EntityManager,
  id: string,
  spkiSha256: string,
  generation: number | null,
): Promise<void> {
  await manager.update(BootstrapTokenRow, { id }, { boundSpkiSha256: spkiSha256, boundGeneration: generation });
}

/** As far as it decides about an enrolment. */
export function presented({
  expiresAt,
  revokedAt,
  boundSpkiSha256,
  boundGeneration,
}: StoredBootstrapToken): PresentedToken {
  const bound = boundSpkiSha256 === null ? null : { spkiSha256: boundSpkiSha256, generation: boundGeneration };
  return { expiresAt, revokedAt, bound };
}

/** Newest first, beginning after `after`. Nobody changes when one was made: the order stays. */
export function listBootstrapTokens(
  manager: EntityManager,
  clusterId: string,
  after: Place | null,
  limit: number,
): Promise<StoredBootstrapToken[]> {
  const query = manager.createQueryBuilder(BootstrapTokenRow, 'one').where({ clusterId });
  if (after) query.andWhere(`(${MADE_AT}, one.id) < (:at, :id)`, { at: new Date(after.atMs), id: after.id });
  return query.orderBy(MADE_AT, 'DESC').addOrderBy('one.id', 'DESC').limit(limit).getMany();
}

/** Postgres counts microseconds, and a place milliseconds. */
const MADE_AT = "date_trunc('milliseconds', one.created_at)";

export async function markTokenRevoked(manager: EntityManager, id: string, now: Date): Promise<void> {
  await manager.update(BootstrapTokenRow, { id }, { revokedAt: now });
}

/** Revokes the tokens of a cluster that made no enrolment, and returns their ids. */
export async function revokeUnusedTokens(manager: EntityManager, clusterId: string, now: Date): Promise<string[]> {
  const unused = { clusterId, boundGeneration: IsNull(), revokedAt: IsNull(), expiresAt: MoreThan(now) };
  const rows = await manager.find(BootstrapTokenRow, { where: unused, lock: { mode: 'pessimistic_write' } });
  for (const { id } of rows) await manager.update(BootstrapTokenRow, { id }, { revokedAt: now });
  return rows.map(({ id }) => id);
}

export async function insertImportLink(
  manager: EntityManager,
  link: Pick<StoredImportLink, 'id' | 'tenantId' | 'clusterId' | 'codeHash' | 'expiresAt'>,
): Promise<void> {
  await manager.insert(ImportLinkRow, link);
}

/** Deletes a cluster's links that expired before the given time. */
export async function deleteOldLinks(manager: EntityManager, clusterId: string, before: Date): Promise<void> {
  await manager.delete(ImportLinkRow, { clusterId, expiresAt: LessThan(before) });
}

/** Deletes a cluster's links that nobody has fetched. */
export async function deleteUnspentLinks(manager: EntityManager, clusterId: string): Promise<void> {
  await manager.delete(ImportLinkRow, { clusterId, redeemedAt: IsNull() });
}

export function findImportLink(manager: EntityManager, codeHash: string): Promise<StoredImportLink | null> {
  return manager.findOneBy(ImportLinkRow, { codeHash });
}

export function lockImportLink(manager: EntityManager, id: string): Promise<StoredImportLink | null> {
  return manager.findOne(ImportLinkRow, { where: { id }, lock: { mode: 'pessimistic_write' } });
}

export async function markRedeemed(manager: EntityManager, id: string, now: Date): Promise<void> {
  await manager.update(ImportLinkRow, { id }, { redeemedAt: now });
}
