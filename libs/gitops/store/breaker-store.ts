import type { EntityManager } from 'typeorm';
import { CLOSED, type BreakerObservation, type BreakerState } from '../domain/breaker.js';
import { BreakerRow } from './entities.js';

export type StoredBreaker = Readonly<BreakerRow>;

export async function readBreaker(manager: EntityManager, tenantId: string): Promise<StoredBreaker> {
  const row = await manager.findOneBy(BreakerRow, { tenantId });
  return row ?? { tenantId, breaker: CLOSED, heldRepairs: false };
}

/** Keeps it from changing until the transaction ends. */
export async function lockBreaker(manager: EntityManager, tenantId: string): Promise<StoredBreaker> {
  await manager.query(`insert into breakers (tenant_id, breaker) values ($1, $2::jsonb) on conflict do nothing`, [
    tenantId,
    JSON.stringify(CLOSED),
  ]);
  const lock = { mode: 'pessimistic_write' } as const;
  return manager.findOneOrFail(BreakerRow, { where: { tenantId }, lock });
}

export async function saveBreaker(
  manager: EntityManager,
  tenantId: string,
  change: { readonly breaker: BreakerState; readonly heldRepairs?: boolean },
): Promise<void> {
  await manager.update(BreakerRow, { tenantId }, change);
}

export function allBreakers(manager: EntityManager): Promise<StoredBreaker[]> {
  return manager.find(BreakerRow);
}

/** Tenants that have clusters with something to do. */
export async function tenantsAtWork(manager: EntityManager): Promise<string[]> {
  const sql = 'select distinct tenant_id as "tenantId" from clusters where wish is not null and absent_since is null';
  const rows = (await manager.query(sql)) as { tenantId: string }[];
  return rows.map(({ tenantId }) => tenantId);
}

/**
 * What the clusters that were heard of since `heardAfter` have in common; fresh is what they have since `freshAfter`. What a cluster
 * waits for on its way is no failure, and a repository that cannot be fetched is none of the tool: neither holds up repairs.
 */
export async function observeProblems(
  manager: EntityManager,
  tenantId: string,
  { heardAfter, freshAfter }: { readonly heardAfter: Date; readonly freshAfter: Date },
): Promise<BreakerObservation> {
  const rows = (await manager.query(
    `select problem_code as code, count(*)::int as now,
            (count(*) filter (where problem_since > $3))::int as fresh
       from (select case when phase in ('repairing', 'degraded', 'escalated') then problem_code end as problem_code, problem_since
               from clusters
              where tenant_id = $1 and absent_since is null and wish is not null and reported_at > $2) as heard
      group by problem_code`,
    [tenantId, heardAfter, freshAfter],
  )) as { code: string | null; now: number; fresh: number }[];
  const of = rows.reduce((sum, { now }) => sum + now, 0);
  return { of, problems: rows.flatMap(({ code, now, fresh }) => (code === null ? [] : [{ code, now, fresh }])) };
}
