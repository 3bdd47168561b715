import type { ClusterEntry } from '@fairlead/contracts';
import { IsNull, LessThanOrEqual, MoreThan, type EntityManager } from 'typeorm';
import type { HealthInput } from '../domain/cluster-health.js';
import { newDeployKeys } from '../domain/key-state.js';
import { ClusterRow } from './entities.js';
import { lockFleet } from './locks.js';

export type StoredCluster = Readonly<ClusterRow>;

/** Makes the table know these clusters as registration shows them, and looks again at those that changed. */
export async function putClusters(manager: EntityManager, entries: readonly ClusterEntry[], now: Date): Promise<void> {
  if (entries.length === 0) return;
  await lockFleet(manager);
  const rows = entries.map(({ clusterId: id, tenantId, name, labels }) => ({ id, tenant_id: tenantId, name, labels }));
  await manager.query(
    `insert into clusters (id, tenant_id, name, labels, deploy_keys, due_at)
     select id, tenant_id, name, labels, $2::jsonb, $3
       from jsonb_to_recordset($1::jsonb) as entry (id uuid, tenant_id text, name text, labels jsonb)
     on conflict (id) do update
       set name = excluded.name, labels = excluded.labels, absent_since = null,
           due_at = $3, touched = clusters.touched + 1
       where clusters.tenant_id = excluded.tenant_id
         and (clusters.name, clusters.labels, clusters.absent_since)
             is distinct from (excluded.name, excluded.labels, null::timestamptz)`,
    [JSON.stringify(rows), JSON.stringify(newDeployKeys()), now],
  );
}

/** All others are absent from now on. Their rows stay: a revision must never go down. */
export async function markAbsent(manager: EntityManager, present: readonly string[], now: Date): Promise<void> {
  await lockFleet(manager);
  await manager.query(
    `update clusters set absent_since = $2, due_at = $2, touched = touched + 1
      where absent_since is null and not (id = any($1::uuid[]))`,
    [present, now],
  );
}

export async function deleteAbsentSince(manager: EntityManager, before: Date): Promise<void> {
  await lockFleet(manager);
  await manager.query('delete from clusters where absent_since < $1', [before]);
}

export function findCluster(manager: EntityManager, id: string): Promise<StoredCluster | null> {
  return manager.findOneBy(ClusterRow, { id });
}

/** Keeps it from changing until the transaction ends. */
export function lockCluster(manager: EntityManager, id: string): Promise<StoredCluster | null> {
  return manager.findOne(ClusterRow, { where: { id }, lock: { mode: 'pessimistic_write' } });
}

export function findClusterByName(
  manager: EntityManager,
  tenantId: string,
  name: string,
): Promise<StoredCluster | null> {
  return manager.findOneBy(ClusterRow, { tenantId, name, absentSince: IsNull() });
}

/** All that ever had the name and are still known, with the one that is there first, then the one that was deleted last. */
export function clustersNamed(manager: EntityManager, tenantId: string, name: string): Promise<StoredCluster[]> {
  const order = { absentSince: { direction: 'DESC', nulls: 'FIRST' } } as const;
  return manager.find(ClusterRow, { where: { tenantId, name }, order });
}

/** The ids of those that have one of these deploy keys, or are still to lose it; deleted ones among them. */
export async function clustersWithKeys(
  manager: EntityManager,
  tenantId: string,
  publicKeys: readonly string[],
): Promise<string[]> {
  const rows: readonly { readonly id: string }[] = await manager.query(
    `select id from clusters
      where tenant_id = $1
        and (deploy_keys -> 'current' ->> 'publicKey' = any($2::text[])
             or deploy_keys -> 'next' ->> 'publicKey' = any($2::text[])
             or exists (select from jsonb_array_elements(deploy_keys -> 'drops') as dropped
                         where dropped ->> 'publicKey' = any($2::text[])))`,
    [tenantId, publicKeys],
  );
  return rows.map(({ id }) => id);
}

/** By name, beginning after `after`. */
export function listClusters(
  manager: EntityManager,
  tenantId: string,
  after: string,
  take: number,
): Promise<StoredCluster[]> {
  const where = { tenantId, name: MoreThan(after), absentSince: IsNull() };
  return manager.find(ClusterRow, { where, order: { name: 'ASC' }, take });
}

/** Those to look at, the longest waiting first. */
export function dueClusters(manager: EntityManager, now: Date, take: number): Promise<StoredCluster[]> {
  return manager.find(ClusterRow, { where: { dueAt: LessThanOrEqual(now) }, order: { dueAt: 'ASC' }, take });
}

/** Those whose signature ends soonest, of those that are due. */
export function clustersToSign(manager: EntityManager, now: Date, take: number): Promise<StoredCluster[]> {
  const where = { signAgainAt: LessThanOrEqual(now), absentSince: IsNull() };
  return manager.find(ClusterRow, { where, order: { signAgainAt: 'ASC' }, take });
}

/** Looks again at these, or at all of a tenant's, or at all. */
export async function touchClusters(
  manager: EntityManager,
  which: { readonly ids: readonly string[] } | { readonly tenantId: string } | 'all',
  now: Date,
): Promise<void> {
  await lockFleet(manager);
  const set = 'update clusters set due_at = $1, touched = touched + 1 where absent_since is null';
  if (which === 'all') await manager.query(set, [now]);
  else if ('ids' in which) await manager.query(`${set} and id = any($2::uuid[])`, [now, which.ids]);
  else await manager.query(`${set} and tenant_id = $2`, [now, which.tenantId]);
}

type Writable = Partial<Omit<ClusterRow, 'id' | 'tenantId'>>;

export async function updateCluster(manager: EntityManager, id: string, change: Writable): Promise<void> {
  await manager.update(ClusterRow, { id }, change);
}

/** Changes it unless somebody else gave it another revision meanwhile, or it was touched; then it is looked at again. */
export async function updateIfUntouched(
  manager: EntityManager,
  seen: StoredCluster,
  change: Writable,
): Promise<boolean> {
  const { affected } = await manager.update(
    ClusterRow,
    { id: seen.id, revision: seen.revision, touched: seen.touched },
    change,
  );
  return affected === 1;
}

/** What the bucket holds: of every cluster that is there, or was until `absentAfter`. */
export async function signedStates(manager: EntityManager, absentAfter: Date): Promise<SignedState[]> {
  return manager.query(
    `select tenant_id as "tenantId", id, revision::float8 as revision, signed
       from clusters where signed is not null and (absent_since is null or absent_since > $1)`,
    [absentAfter],
  );
}

export interface SignedState extends Pick<StoredCluster, 'tenantId' | 'id' | 'revision'> {
  readonly signed: NonNullable<StoredCluster['signed']>;
}

/** What the health of each cluster is told from. Little of each, as they are many. */
export async function healthInputs(manager: EntityManager): Promise<HealthInput[]> {
  return manager.query(
    `select revision::float8 as revision,
            case when jsonb_typeof(wish) = 'object'
                 then jsonb_build_object('source', wish -> 'source', 'suspend', wish -> 'suspend') end as spec,
            coalesce(extract(epoch from revised_at) * 1000, 0)::float8 as "revisedAtMs",
            case when jsonb_typeof(report) = 'object'
                 then jsonb_build_object('phase', report -> 'phase', 'observedRevision', report -> 'observedRevision',
                                         'appliedRevision', report -> 'appliedRevision',
                                         'sourceReady', report -> 'source' -> 'ready') end as report,
            coalesce(extract(epoch from reported_at) * 1000, 0)::float8 as "reportedAtMs"
       from clusters where absent_since is null`,
  );
}

/** What is to happen in the clusters that follow this assignment, if no other one selects them. */
export async function removeFrom(
  manager: EntityManager,
  tenantId: string,
  assignment: string,
  remove: StoredCluster['remove'],
): Promise<void> {
  await lockFleet(manager);
  await manager.query(`update clusters set remove = $3 where tenant_id = $1 and adopted -> 'spec' ->> 'name' = $2`, [
    tenantId,
    assignment,
    remove,
  ]);
}

/** All that are there, by name. */
export function tenantClusters(manager: EntityManager, tenantId: string): Promise<StoredCluster[]> {
  const select = { id: true, name: true, labels: true, adopted: true, reportedAt: true } as const;
  return manager.find(ClusterRow, { where: { tenantId, absentSince: IsNull() }, order: { name: 'ASC' }, select });
}
