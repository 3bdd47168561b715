import { FairleadError } from '@fairlead/errors';
import type { Place } from '@fairlead/contracts';
import { IsNull, type EntityManager } from 'typeorm';
import { RolloutRow } from './entities.js';
import { lockFleet } from './locks.js';
import type { AdoptedSpec } from '../domain/select-assignment.js';

export type StoredRollout = Readonly<RolloutRow>;

export async function insertRollout(manager: EntityManager, rollout: StoredRollout): Promise<void> {
  await manager.insert(RolloutRow, manager.create(RolloutRow, rollout));
}

export async function updateRollout(
  manager: EntityManager,
  id: string,
  change: Pick<RolloutRow, 'progress' | 'state' | 'endedAt'>,
): Promise<void> {
  await manager.update(RolloutRow, { id }, change);
}

/** Keeps it from changing until the transaction ends. NOT_FOUND if the tenant has no such rollout. */
export async function lockRollout(manager: EntityManager, tenantId: string, id: string): Promise<StoredRollout> {
  const row = await manager.findOne(RolloutRow, { where: { tenantId, id }, lock: { mode: 'pessimistic_write' } });
  if (!row) throw new FairleadError('NOT_FOUND', 'there is no such rollout');
  return row;
}

/** The one that has not ended. */
export function lockRolloutOf(
  manager: EntityManager,
  tenantId: string,
  assignment: string,
): Promise<StoredRollout | null> {
  const where = { tenantId, assignment, endedAt: IsNull() };
  return manager.findOne(RolloutRow, { where, lock: { mode: 'pessimistic_write' } });
}

/** All that have not ended, of all tenants. */
export function runningRollouts(
  manager: EntityManager,
): Promise<Pick<StoredRollout, 'id' | 'tenantId' | 'assignment'>[]> {
  return manager.find(RolloutRow, {
    where: { endedAt: IsNull() },
    select: { id: true, tenantId: true, assignment: true },
    order: { startedAt: 'ASC' },
  });
}

/** Postgres counts microseconds, and a place milliseconds. */
const STARTED_AT = "date_trunc('milliseconds', one.started_at)";

/** Newest first, beginning after `after`. */
export function listRollouts(
  manager: EntityManager,
  tenantId: string,
  after: Place | null,
  limit: number,
): Promise<StoredRollout[]> {
  const query = manager.createQueryBuilder(RolloutRow, 'one').where({ tenantId });
  if (after) query.andWhere(`(${STARTED_AT}, one.id) < (:at, :id)`, { at: new Date(after.atMs), id: after.id });
  return query.orderBy(STARTED_AT, 'DESC').addOrderBy('one.id', 'DESC').limit(limit).getMany();
}

/** Keeps the newest of a tenant, and all that have not ended. */
export async function forgetRollouts(manager: EntityManager, tenantId: string, keep: number): Promise<void> {
  await manager.query(
    `delete from rollouts where tenant_id = $1 and ended_at is not null and id not in (
       select id from rollouts where tenant_id = $1 order by started_at desc limit $2)`,
    [tenantId, keep],
  );
}

/** These follow it from now on. */
export async function adoptSpec(
  manager: EntityManager,
  clusterIds: readonly string[],
  adopted: AdoptedSpec,
  now: Date,
): Promise<void> {
  await lockFleet(manager);
  await manager.query(
    `update clusters set adopted = $2::jsonb, due_at = $3, touched = touched + 1
      where id = any($1::uuid[]) and absent_since is null`,
    [clusterIds, JSON.stringify(adopted), now],
  );
}

/** A cluster, as far as a rollout judges it. */
export interface JudgedRow {
  readonly id: string;
  readonly absent: boolean;
  readonly assignment: string | null;
  readonly adoptedName: string | null;
  readonly adoptedVersion: number | null;
  /** What is desired of it follows from all that is known. */
  readonly converged: boolean;
  readonly revision: number;
  readonly reportedAt: Date | null;
  readonly phase: string | null;
  readonly observedRevision: number | null;
  readonly appliedRevision: number | null;
  readonly sourceReady: boolean | null;
  /** Nothing is followed at present. */
  readonly follows: boolean;
}

export async function judgedRows(manager: EntityManager, clusterIds: readonly string[]): Promise<JudgedRow[]> {
  return manager.query(
    `select id, absent_since is not null as absent, assignment,
            adopted -> 'spec' ->> 'name' as "adoptedName", (adopted ->> 'version')::int as "adoptedVersion",
            converged = touched as converged, revision::float8 as revision,
            reported_at as "reportedAt", phase,
            (report ->> 'observedRevision')::float8 as "observedRevision",
            (report ->> 'appliedRevision')::float8 as "appliedRevision",
            (report -> 'source' ->> 'ready')::boolean as "sourceReady",
            jsonb_typeof(wish -> 'source') = 'object' and not (wish ->> 'suspend')::boolean is true as follows
       from clusters where id = any($1::uuid[])`,
    [clusterIds],
  );
}
