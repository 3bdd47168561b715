import type { AccessRequest } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { Any, In, IsNull, LessThan, LessThanOrEqual, type EntityManager } from 'typeorm';
import { AccessRequestRow } from './grant-entities.js';
import { scopeColumns, scopeOf } from './scope-columns.js';

export async function insertAccessRequest(manager: EntityManager, request: AccessRequest): Promise<void> {
  await manager.insert(AccessRequestRow, toRow(request));
}

/** Reads a request and keeps it from changing until the transaction ends. NOT_FOUND. */
export async function lockAccessRequest(manager: EntityManager, tenantId: string, id: string): Promise<AccessRequest> {
  const row = await manager.findOne(AccessRequestRow, { where: { id, tenantId }, lock: { mode: 'pessimistic_write' } });
  if (!row) throw new FairleadError('NOT_FOUND', `there is no access request ${id}`);
  return shown(row);
}

/** For a request that is locked. */
export async function recordDecision(manager: EntityManager, request: AccessRequest): Promise<void> {
  const { id, state, decidedBy, decidedAt, grantId } = request;
  const at = decidedAt === null ? null : new Date(decidedAt);
  await manager.update(AccessRequestRow, { id }, { state, decidedBy, decidedAt: at, grantId });
}

/** How many of a user wait for a decision; those from before this time wait no more. */
export function countPending(manager: EntityManager, tenantId: string, user: string, since: Date): Promise<number> {
  return manager
    .createQueryBuilder(AccessRequestRow, 'r')
    .where(`r.tenant_id = :tenantId and r.user_name = :user and r.state = 'pending' and r.created_at > :since`)
    .setParameters({ tenantId, user, since })
    .getCount();
}

/** Approved ones end with their grants. */
export async function lapseRequestsOf(manager: EntityManager, grantIds: readonly string[]): Promise<void> {
  await manager.update(AccessRequestRow, { grantId: Any([...grantIds]), state: 'approved' }, { state: 'lapsed' });
}

/** Pending ones from before this time, which are lapsed from now on; without those that somebody decides at this moment. */
export async function takeUndecided(manager: EntityManager, since: Date, limit: number): Promise<AccessRequest[]> {
  const rows = await manager.find(AccessRequestRow, {
    where: { state: 'pending', createdAt: LessThanOrEqual(since) },
    order: { createdAt: 'ASC' },
    take: limit,
    lock: { mode: 'pessimistic_write', onLocked: 'skip_locked' },
  });
  const ids = rows.map(({ id }) => id);
  if (ids.length > 0) await manager.update(AccessRequestRow, { id: Any(ids) }, { state: 'lapsed' });
  return rows.map((row) => ({ ...shown(row), state: 'lapsed' as const }));
}

/** Deletes those that ended, were made before this time, and have no grant any more. */
export async function dropEndedRequests(manager: EntityManager, before: Date): Promise<void> {
  const ended = { state: In(['rejected', 'lapsed']), createdAt: LessThan(before), grantId: IsNull() };
  await manager.delete(AccessRequestRow, ended);
}

export interface AccessRequestFilter {
  readonly after?: string | undefined;
  /** By the clock. */
  readonly state?: AccessRequest['state'] | undefined;
  readonly user?: string | undefined;
}

/** By id, beginning after `after`. `since`: those that were made before, and wait, have lapsed. */
export async function listAccessRequests(
  manager: EntityManager,
  tenantId: string,
  { after, state, user, since, now }: AccessRequestFilter & { readonly since: Date; readonly now: Date },
  limit: number,
): Promise<AccessRequest[]> {
  const query = manager.createQueryBuilder(AccessRequestRow, 'r').where('r.tenant_id = :tenantId', { tenantId });
  if (after !== undefined) query.andWhere('r.id > :after', { after });
  if (user !== undefined) query.andWhere('r.user_name = :user', { user });
  if (state !== undefined) query.andWhere(inState(state), { state, since, now });
  return (await query.orderBy('r.id').take(limit).getMany()).map(shown);
}

const UNDECIDED = `(r.state = 'pending' and r.created_at <= :since)`;
const SPENT = `(r.state = 'approved' and r.decided_at + r.seconds * interval '1 second' <= :now)`;

function inState(state: AccessRequest['state']): string {
  if (state === 'lapsed') return `(r.state = :state or ${UNDECIDED} or ${SPENT})`;
  return `(r.state = :state and not ${UNDECIDED} and not coalesce(${SPENT}, false))`;
}

function toRow(request: AccessRequest): AccessRequestRow {
  const { clusters, createdAt, decidedAt, ...rest } = request;
  return {
    ...rest,
    ...scopeColumns(clusters),
    createdAt: new Date(createdAt),
    decidedAt: decidedAt === null ? null : new Date(decidedAt),
  };
}

function shown(row: AccessRequestRow): AccessRequest {
  const { id, tenantId, user, role, narrowing, seconds, reason, state, decidedBy, grantId } = row;
  return {
    id,
    tenantId,
    user,
    clusters: scopeOf(row),
    role,
    narrowing,
    seconds,
    reason,
    state,
    createdAt: row.createdAt.toISOString(),
    decidedBy,
    decidedAt: row.decidedAt?.toISOString() ?? null,
    grantId,
  };
}
