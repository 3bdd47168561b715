import type { EntityManager } from 'typeorm';
import { DeployKeyRow } from './git-entities.js';

export type StoredDeployKey = Readonly<DeployKeyRow>;

/** One key of one cluster. */
export interface DeployKeyName {
  readonly clusterId: string;
  readonly repositoryId: string;
  readonly number: number;
}

export interface DeployKeyFilter {
  readonly repositoryId?: string | undefined;
  readonly clusterId?: string | undefined;
}

/** Is a deploy key on this host, or to be? */
export async function deployKeysNeed(manager: EntityManager, hostId: string): Promise<boolean> {
  const rows = (await manager.query(`select from deploy_keys where host_id = $1 and state <> 'removed' limit 1`, [
    hostId,
  ])) as unknown[];
  return rows.length > 0;
}

/** The one that has its number now. */
export function findDeployKey(
  manager: EntityManager,
  tenantId: string,
  name: DeployKeyName,
): Promise<StoredDeployKey | null> {
  const { clusterId, repositoryId, number } = name;
  return manager.findOneBy(DeployKeyRow, { tenantId, clusterId, repositoryId, number, superseded: false });
}

/** Locked, if it is there, until the transaction ends. */
export function lockDeployKey(manager: EntityManager, id: string): Promise<StoredDeployKey | null> {
  return manager.findOne(DeployKeyRow, { where: { id }, lock: { mode: 'pessimistic_write' } });
}

export async function insertDeployKey(manager: EntityManager, key: StoredDeployKey): Promise<void> {
  await manager.insert(DeployKeyRow, key);
}

export async function updateDeployKey(
  manager: EntityManager,
  id: string,
  change: Partial<Omit<DeployKeyRow, 'id'>>,
): Promise<void> {
  await manager.update(DeployKeyRow, { id }, change);
}

/** All of a repository that something is still to be done about, oldest first. */
export function openDeployKeys(manager: EntityManager, hostId: string, path: string): Promise<StoredDeployKey[]> {
  return manager
    .createQueryBuilder(DeployKeyRow, 'key')
    .where(`key.host_id = :hostId and key.path = :path and key.state <> 'removed'`, { hostId, path })
    .orderBy('key.state_since')
    .getMany();
}

/** They are on the host as they were. */
export async function noteSeen(manager: EntityManager, ids: readonly string[], now: Date): Promise<void> {
  await manager.query('update deploy_keys set seen_at = $2 where id = any($1::uuid[])', [ids, now]);
}

/** The same problem for all of a repository. */
export async function recordRepositoryProblem(
  manager: EntityManager,
  { hostId, path }: { readonly hostId: string; readonly path: string },
  problem: { readonly code: string; readonly message: string },
): Promise<void> {
  await manager
    .createQueryBuilder()
    .update(DeployKeyRow)
    .set({ problemCode: problem.code, problemMessage: problem.message })
    .where(`host_id = :hostId and path = :path and state <> 'removed'`, { hostId, path })
    .execute();
}

/** At most `limit` that have a place after `after`, in the order of cluster, repository and number. */
export async function listDeployKeyRows(
  manager: EntityManager,
  tenantId: string,
  filter: DeployKeyFilter & { readonly after?: DeployKeyName },
  limit: number,
): Promise<StoredDeployKey[]> {
  const query = manager
    .createQueryBuilder(DeployKeyRow, 'key')
    .where('key.tenant_id = :tenantId and not key.superseded', { tenantId });
  const { repositoryId, clusterId, after } = filter;
  if (repositoryId !== undefined) query.andWhere('key.repository_id = :repositoryId', { repositoryId });
  if (clusterId !== undefined) query.andWhere('key.cluster_id = :clusterId', { clusterId });
  if (after) {
    const place = { afterCluster: after.clusterId, afterRepository: after.repositoryId, afterNumber: after.number };
    query.andWhere(
      '(key.cluster_id, key.repository_id, key.number) > (:afterCluster, :afterRepository, :afterNumber)',
      place,
    );
  }
  const order = ['key.clusterId', 'key.repositoryId', 'key.number'] as const;
  for (const column of order) query.addOrderBy(column);
  return query.limit(limit).getMany();
}

/** What was removed before is forgotten. How many they were. */
export async function deleteRemovedDeployKeys(manager: EntityManager, before: Date): Promise<number> {
  const [, count] = (await manager.query(`delete from deploy_keys where state = 'removed' and state_since < $1`, [
    before,
  ])) as [unknown[], number];
  return count;
}
