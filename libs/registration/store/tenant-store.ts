import { TenantQuotas, isOfInstallation, quotaExceeded, type QuotaName, type Tenant } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { IsNull, MoreThan, type EntityManager } from 'typeorm';
import { ClientRow, ClusterRow, TenantRow } from './entities.js';

export type StoredTenant = Readonly<TenantRow>;

/** Null: the name was used before. */
export async function insertTenant(
  manager: EntityManager,
  id: string,
  quotas: TenantQuotas,
): Promise<StoredTenant | null> {
  const insert = manager.createQueryBuilder().insert().into(TenantRow).values({ id, quotas }).orIgnore();
  const { raw } = await insert.returning('id').execute();
  return (raw as unknown[]).length === 0 ? null : manager.findOneByOrFail(TenantRow, { id });
}

/** By name, beginning after `after`; without those that were deleted. */
export function listTenants(manager: EntityManager, after: string, limit: number): Promise<StoredTenant[]> {
  const where = { id: MoreThan(after), deletedAt: IsNull() };
  return manager.find(TenantRow, { where, order: { id: 'ASC' }, take: limit });
}

/** NOT_FOUND; so is one that was deleted. */
export async function findTenant(manager: EntityManager, id: string): Promise<StoredTenant> {
  return existing(id, await manager.findOneBy(TenantRow, { id }));
}

/** Kept from changing, and from getting anything, until the transaction ends. NOT_FOUND if there never was one. */
export async function lockTenant(manager: EntityManager, id: string): Promise<StoredTenant> {
  const row = await manager.findOne(TenantRow, { where: { id }, lock: { mode: 'for_no_key_update' } });
  if (!row) throw noTenant(id);
  return row;
}

export async function saveTenant(
  manager: EntityManager,
  id: string,
  change: Partial<Pick<StoredTenant, 'quotas' | 'deletedAt'>>,
): Promise<void> {
  await manager.update(TenantRow, { id }, change);
}

const COUNTED = { clusters: ClusterRow, clients: ClientRow } as const;

/** How many clusters and clients a tenant has. */
export type TenantCounts = Pick<Tenant, keyof typeof COUNTED>;

export async function countsOf(manager: EntityManager, tenantId: string): Promise<TenantCounts> {
  return (await countsOfEach(manager, [tenantId]))(tenantId);
}

/** Of many tenants with one query for each kind of thing. */
export async function countsOfEach(
  manager: EntityManager,
  tenantIds: readonly string[],
): Promise<(tenantId: string) => TenantCounts> {
  const [clusters, clients] = [
    await countsByTenant(manager, COUNTED.clusters, tenantIds),
    await countsByTenant(manager, COUNTED.clients, tenantIds),
  ];
  return (tenantId) => ({ clusters: clusters.get(tenantId) ?? 0, clients: clients.get(tenantId) ?? 0 });
}

async function countsByTenant(
  manager: EntityManager,
  rows: (typeof COUNTED)[keyof typeof COUNTED],
  tenantIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const counted: readonly { tenantId: string; count: number }[] = await manager
    .createQueryBuilder(rows, 'counted')
    .select('counted.tenantId', 'tenantId')
    .addSelect('count(*)::int', 'count')
    .where('counted.tenantId = any(:tenantIds)', { tenantIds })
    .groupBy('counted.tenantId')
    .getRawMany();
  return new Map(counted.map(({ tenantId, count }) => [tenantId, count]));
}

/**
 * Before something is added to a tenant: it is neither deleted nor full until the transaction ends. Additions to the default tenant, which has no
 * quotas, do not wait for each other. NOT_FOUND, QUOTA_EXCEEDED.
 */
export async function holdRoom(
  manager: EntityManager,
  tenantId: string,
  what: QuotaName & keyof typeof COUNTED,
): Promise<void> {
  const mode = isOfInstallation(tenantId) ? 'pessimistic_read' : 'for_no_key_update';
  const row = await manager.findOne(TenantRow, { where: { id: tenantId }, lock: { mode } });
  const quota = TenantQuotas.parse(existing(tenantId, row).quotas)[what];
  if (quota === null || (await manager.countBy(COUNTED[what], { tenantId })) < quota) return;
  throw quotaExceeded(tenantId, what, quota);
}

function existing(id: string, row: StoredTenant | null): StoredTenant {
  if (!row || row.deletedAt) throw noTenant(id);
  return row;
}

function noTenant(id: string): FairleadError {
  return new FairleadError('NOT_FOUND', `there is no tenant named ${id}`);
}
