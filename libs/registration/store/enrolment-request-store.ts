import { IsNull, LessThan, Like, Not, type EntityManager } from 'typeorm';
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

/** Those with a token first, then newest first: who is unauthenticated hides nobody who was invited. */
export function listRequests(
  manager: EntityManager,
  tenantId: string,
  { state, fingerprint }: RequestFilter,
  limit: number,
): Promise<StoredEnrolmentRequest[]> {
  const query = manager.createQueryBuilder(EnrolmentRequestRow, 'one').where({ tenantId });
  if (state !== undefined) query.andWhere({ state });
  if (fingerprint !== undefined) query.andWhere({ spkiSha256: Like(`${fingerprint}%`) });
  return query.orderBy('one.token_id is null').addOrderBy('one.createdAt', 'DESC').limit(limit).getMany();
}
