import { isOfInstallation, TenantQuotas, type QuotaName, type Tenant } from '@fairlead/contracts';
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

export async function countsOf(
  manager: EntityManager,
  tenantId: string,
): Promise<Pick<Tenant, 'clusters' | 'clients'>> {
  const [clusters, clients] = [
    await manager.countBy(ClusterRow, { tenantId }),
    await manager.countBy(ClientRow, { tenantId }),
  ];
  return { clusters, clients };
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
  throw new FairleadError('QUOTA_EXCEEDED', `the tenant ${tenantId} has all ${what} that it may have: ${quota}`);
}

function existing(id: string, row: StoredTenant | null): StoredTenant {
  if (!row || row.deletedAt) throw noTenant(id);
  return row;
}

function noTenant(id: string): FairleadError {
  return new FairleadError('NOT_FOUND', `there is no tenant named ${id}`);
}
