import type { ApprovalPolicy, LastError } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { And, Any, MoreThan, type EntityManager } from 'typeorm';
import type { StoredFacts } from '../domain/known-facts.js';
import { violationOf } from './constraint-violation.js';
import { ClusterRow, TenantRow } from './entities.js';
import { holdRoom } from './tenant-store.js';

export type StoredCluster = Readonly<ClusterRow>;

/** Of a cluster that nobody described before its agent asked. */
export const ADOPTED: Pick<StoredCluster, 'labels' | 'links' | 'targets' | 'egress' | 'gitops' | 'manifestValues'> = {
  labels: {},
  links: 2,
  targets: [],
  egress: [],
  gitops: false,
  manifestValues: {},
};

/** ALREADY_EXISTS if the installation has a cluster of that name; NOT_FOUND if there is no such tenant; QUOTA_EXCEEDED. */
export async function insertCluster(
  manager: EntityManager,
  cluster: Pick<StoredCluster, 'tenantId' | 'name' | keyof typeof ADOPTED>,
): Promise<StoredCluster> {
  await holdRoom(manager, cluster.tenantId, 'clusters');
  const row = manager.create(ClusterRow, {
    ...cluster,
    id: crypto.randomUUID(),
    generation: 0,
    lastGeneration: 0,
    facts: null,
    enrolledAt: null,
    lastError: null,
  });
  try {
    await manager.insert(ClusterRow, row);
    return row;
  } catch (error) {
    if (violationOf(error) !== 'unique') throw error;
    throw new FairleadError('ALREADY_EXISTS', `a cluster named ${cluster.name} exists already`);
  }
}

/** NOT_FOUND if the tenant has no cluster of that name. */
export async function findClusterByName(
  manager: EntityManager,
  tenantId: string,
  name: string,
): Promise<StoredCluster> {
  const row = await manager.findOneBy(ClusterRow, { tenantId, name });
  if (!row) throw new FairleadError('NOT_FOUND', `there is no cluster named ${name}`);
  return row;
}

export function findCluster(manager: EntityManager, id: string): Promise<StoredCluster | null> {
  return manager.findOneBy(ClusterRow, { id });
}

/** Those of the given names, kept from being deleted until the transaction ends. */
export function shareClustersByName(
  manager: EntityManager,
  tenantId: string,
  names: readonly string[],
): Promise<StoredCluster[]> {
  return manager.find(ClusterRow, {
    where: { tenantId, name: Any([...names]) },
    order: { id: 'ASC' },
    lock: { mode: 'pessimistic_read' },
  });
}

/** The names of clusters, by id. */
export async function clusterNames(manager: EntityManager, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await manager.find(ClusterRow, { select: { id: true, name: true }, where: { id: Any([...ids]) } });
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** Reads a cluster and keeps it from changing until the transaction ends. */
export function lockCluster(manager: EntityManager, id: string): Promise<StoredCluster | null> {
  return manager.findOne(ClusterRow, { where: { id }, lock: { mode: 'pessimistic_write' } });
}

/** The same by its name. NOT_FOUND. */
export async function lockClusterByName(
  manager: EntityManager,
  tenantId: string,
  name: string,
): Promise<StoredCluster> {
  const { id } = await findClusterByName(manager, tenantId, name);
  const cluster = await lockCluster(manager, id);
  if (!cluster) throw new FairleadError('NOT_FOUND', `there is no cluster named ${name}`);
  return cluster;
}

/** By name, beginning after `after`; with `names`, only those of these. */
export function listClusters(
  manager: EntityManager,
  { tenantId, after, names, limit }: ClusterRange,
): Promise<StoredCluster[]> {
  const name = names === undefined ? MoreThan(after) : And(MoreThan(after), Any([...names]));
  return manager.find(ClusterRow, { where: { tenantId, name }, order: { name: 'ASC' }, take: limit });
}

interface ClusterRange {
  readonly tenantId: string;
  readonly after: string;
  readonly names?: readonly string[] | undefined;
  readonly limit: number;
}

/** Every cluster of every tenant. */
export function allClusters(
  manager: EntityManager,
): Promise<Pick<StoredCluster, 'id' | 'tenantId' | 'name' | 'generation' | 'labels' | 'manifestValues'>[]> {
  const select = {
    id: true,
    tenantId: true,
    name: true,
    generation: true,
    labels: true,
    manifestValues: true,
  } as const;
  return manager.find(ClusterRow, { select });
}

/** The number of an enrolment of its own, whatever becomes of it: none is given twice. For a cluster that is locked. */
export async function reserveGeneration(
  manager: EntityManager,
  { id, lastGeneration }: Pick<StoredCluster, 'id' | 'lastGeneration'>,
): Promise<number> {
  await manager.update(ClusterRow, { id }, { lastGeneration: lastGeneration + 1 });
  return lastGeneration + 1;
}

/** For a cluster that is locked, with a generation above its last one or reserved before. What went wrong with an earlier enrolment says nothing of this one. */
export async function markEnrolled(
  manager: EntityManager,
  { id, lastGeneration }: Pick<StoredCluster, 'id' | 'lastGeneration'>,
  enrolment: Pick<StoredCluster, 'generation' | 'facts' | 'enrolledAt'>,
): Promise<void> {
  const last = Math.max(lastGeneration, enrolment.generation);
  await manager.update(ClusterRow, { id }, { ...enrolment, lastGeneration: last, lastError: null });
}

/** What is known of these clusters; those that are gone are left out. */
export function factsOfClusters(
  manager: EntityManager,
  ids: readonly string[],
): Promise<Pick<StoredCluster, 'id' | 'generation' | 'facts'>[]> {
  return manager.find(ClusterRow, {
    select: { id: true, generation: true, facts: true },
    where: { id: Any([...ids]) },
  });
}

/** For a cluster that is locked. */
export async function changeSettings(
  manager: EntityManager,
  id: string,
  settings: Partial<Pick<StoredCluster, keyof typeof ADOPTED>>,
): Promise<void> {
  await manager.update(ClusterRow, { id }, settings);
}

/** For a cluster that is locked. */
export async function changeFacts(manager: EntityManager, id: string, facts: StoredFacts): Promise<void> {
  await manager.update(ClusterRow, { id }, { facts });
}

/** Unless a newer one is known, or the cluster is gone. */
export async function recordProblem(manager: EntityManager, id: string, lastError: LastError): Promise<void> {
  await manager
    .createQueryBuilder()
    .update(ClusterRow)
    .set({ lastError })
    .where(`id = :id and (last_error is null or last_error->>'at' <= :at)`, { id, at: lastError.at })
    .execute();
}

/** With its tokens and links. */
export async function deleteCluster(manager: EntityManager, id: string): Promise<void> {
  await manager.delete(ClusterRow, { id });
}

/** Null: none was chosen. NOT_FOUND if there is no such tenant. */
export async function tenantPolicy(manager: EntityManager, tenantId: string): Promise<ApprovalPolicy | null> {
  const tenant = await manager.findOneBy(TenantRow, { id: tenantId });
  if (!tenant) throw new FairleadError('NOT_FOUND', `there is no tenant ${tenantId}`);
  return tenant.approvalPolicy;
}

export async function setTenantPolicy(
  manager: EntityManager,
  id: string,
  approvalPolicy: ApprovalPolicy | null,
): Promise<void> {
  await manager.update(TenantRow, { id }, { approvalPolicy });
}

export async function setClusterPolicy(
  manager: EntityManager,
  id: string,
  approvalPolicy: ApprovalPolicy | null,
): Promise<void> {
  await manager.update(ClusterRow, { id }, { approvalPolicy });
}
