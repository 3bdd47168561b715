import { grantsKeys } from '@fairlead/contracts';
import { Any, IsNull, type EntityManager } from 'typeorm';
import { LockdownRow } from './grant-entities.js';

export type StoredLockdown = Readonly<LockdownRow>;

/** One cluster of a tenant, or all. */
export interface Locked {
  readonly tenantId: string;
  /** Null: all. */
  readonly cluster: { readonly name: string; readonly clusterId: string } | null;
}

export async function insertLockdown(
  manager: EntityManager,
  { tenantId, cluster }: Locked,
  said: Pick<StoredLockdown, 'by' | 'at' | 'reason'>,
): Promise<StoredLockdown> {
  const clusterId = cluster?.clusterId ?? null;
  const bucketKey = grantsKeys.lockdown(tenantId, clusterId);
  const row = { ...said, bucketKey, tenantId, clusterName: cluster?.name ?? null, clusterId };
  await manager.insert(LockdownRow, row);
  return row;
}

/** Of the cluster with this name, or of the tenant. */
export function findLockdown(
  manager: EntityManager,
  tenantId: string,
  clusterName: string | null,
): Promise<StoredLockdown | null> {
  return manager.findOneBy(LockdownRow, { tenantId, clusterName: clusterName ?? IsNull() });
}

export async function deleteLockdown(manager: EntityManager, bucketKey: string): Promise<void> {
  await manager.delete(LockdownRow, { bucketKey });
}

/** Of one tenant, or of all. */
export function listLockdowns(manager: EntityManager, tenantId?: string, limit?: number): Promise<StoredLockdown[]> {
  const where = tenantId === undefined ? {} : { tenantId };
  return manager.find(LockdownRow, {
    where,
    order: { bucketKey: 'ASC' },
    ...(limit === undefined ? {} : { take: limit }),
  });
}

export function countLockdowns(manager: EntityManager, tenantId: string): Promise<number> {
  return manager.countBy(LockdownRow, { tenantId });
}

export function lockdownsOfKeys(manager: EntityManager, keys: readonly string[]): Promise<StoredLockdown[]> {
  return manager.find(LockdownRow, { where: { bucketKey: Any([...keys]) } });
}

/** The next keys of lockdowns, in the order of their bytes. */
export async function lockdownKeysAfter(manager: EntityManager, after: string, limit: number): Promise<string[]> {
  const sql = 'select bucket_key as key from lockdowns where bucket_key > $1 order by bucket_key limit $2';
  const rows: readonly { key: string }[] = await manager.query(sql, [after, limit]);
  return rows.map(({ key }) => key);
}
