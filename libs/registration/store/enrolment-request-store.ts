import { IsNull, LessThan, Like, MoreThan, Not, type EntityManager } from 'typeorm';
import type { EnrolmentPlace } from '@fairlead/contracts';
import { EnrolmentRequestRow } from './entities.js';

export type StoredEnrolmentRequest = Readonly<EnrolmentRequestRow>;

export function findRequestByKey(manager: EntityManager, spkiSha256: string): Promise<StoredEnrolmentRequest | null> {
  return manager.findOneBy(EnrolmentRequestRow, { spkiSha256 });
}

export function findRequest(manager: EntityManager, id: string): Promise<StoredEnrolmentRequest | null> {
  return manager.findOneBy(EnrolmentRequestRow, { id });
}

/** Those that wait with tokens of a cluster, or with one token; kept from changing until the transaction ends. */
export function lockPending(
  manager: EntityManager,
  invited: { readonly clusterId: string } | { readonly tokenId: string },
): Promise<StoredEnrolmentRequest[]> {
  const where = { ...invited, state: 'pending' as const };
  return manager.find(EnrolmentRequestRow, { where, order: { id: 'ASC' }, lock: { mode: 'pessimistic_write' } });
}

export async function deleteRequest(manager: EntityManager, id: string): Promise<void> {
  await manager.delete(EnrolmentRequestRow, { id });
}

/** Reads a request and keeps it from changing until the transaction ends. */
export function lockRequest(manager: EntityManager, id: string): Promise<StoredEnrolmentRequest | null> {
  return manager.findOne(EnrolmentRequestRow, { where: { id }, lock: { mode: 'pessimistic_write' } });
}

/** False if there is one of this key already. */
export async function insertRequest(manager: EntityManager, request: StoredEnrolmentRequest): Promise<boolean> {
  const query = manager.createQueryBuilder().insert().into(EnrolmentRequestRow).values(request);
  const { raw } = await query.orIgnore().returning('id').execute();
  return (raw as unknown[]).length > 0;
}

export async function changeRequest(
  manager: EntityManager,
  id: string,
  change: Partial<Omit<StoredEnrolmentRequest, 'id' | 'facts'>>,
): Promise<void> {
  await manager.update(EnrolmentRequestRow, { id }, change);
}

/** How many wait, with a token or without one, of a tenant and of one network. */
export async function countPending(
  manager: EntityManager,
  tenantId: string,
  network: string,
  invited: boolean,
): Promise<{ ofTenant: number; ofAddress: number }> {
  const waiting = { state: 'pending' as const, tokenId: invited ? Not(IsNull()) : IsNull() };
  return {
    ofTenant: await manager.countBy(EnrolmentRequestRow, { tenantId, ...waiting }),
    ofAddress: await manager.countBy(EnrolmentRequestRow, { network, ...waiting }),
  };
}

/** Drops what is over, and pending ones that nobody has asked about since. */
export async function dropOldRequests(manager: EntityManager, now: Date, askedAfter: Date): Promise<void> {
  await manager.delete(EnrolmentRequestRow, { expiresAt: LessThan(now) });
  await manager.delete(EnrolmentRequestRow, { state: 'pending', lastAskedAt: LessThan(askedAfter) });
}

/** Forgets what a tenant decided, but for so many that were decided last. */
export async function dropDecided(manager: EntityManager, tenantId: string, kept: number): Promise<void> {
  const last = `select id from enrolment_requests
    where tenant_id = $1 and state <> 'pending' order by decided_at desc offset $2`;
  await manager.query(`delete from enrolment_requests where id in (${last})`, [tenantId, kept]);
}

export interface RequestFilter {
  readonly state?: StoredEnrolmentRequest['state'] | undefined;
  /** What the SHA-256 of the key begins with, in lower-case hexadecimal. */
  readonly fingerprint?: string | undefined;
}

/** Postgres counts microseconds, and a place milliseconds. */
const ASKED_AT = "date_trunc('milliseconds', one.created_at)";

/**
 * Those that have not ended at `now`, beginning after `after`. Those with a token first, then newest first: who is unauthenticated hides nobody who
 * was invited. None changes its place: a key that shows another token asks anew.
 */
export function listRequests(
  manager: EntityManager,
  tenantId: string,
  { state, fingerprint, after, now }: RequestFilter & { readonly after: EnrolmentPlace | null; readonly now: Date },
  limit: number,
): Promise<StoredEnrolmentRequest[]> {
  const query = manager.createQueryBuilder(EnrolmentRequestRow, 'one').where({ tenantId, expiresAt: MoreThan(now) });
  if (state !== undefined) query.andWhere({ state });
  if (fingerprint !== undefined) query.andWhere({ spkiSha256: Like(`${fingerprint}%`) });
  if (after) {
    const later = `(${ASKED_AT}, one.id) < (:at, :id)`;
    const place = { at: new Date(after.atMs), id: after.id };
    query.andWhere(after.invited ? `(one.token_id is null or ${later})` : `one.token_id is null and ${later}`, place);
  }
  return query
    .orderBy('one.token_id is null')
    .addOrderBy(ASKED_AT, 'DESC')
    .addOrderBy('one.id', 'DESC')
    .limit(limit)
    .getMany();
}
