import { FairleadError } from '@fairlead/errors';
import { MoreThan, type EntityManager } from 'typeorm';
import { ClientRow } from './entities.js';
import { holdRoom } from './tenant-store.js';

export type StoredClient = Readonly<ClientRow>;

/**
 * Adds a client unless its tenant has one of that name, and returns the one there is, kept from changing until the
 * transaction ends. NOT_FOUND if there is no such tenant; QUOTA_EXCEEDED.
 */
export async function ensureClient(
  manager: EntityManager,
  spec: Pick<StoredClient, 'tenantId' | 'name' | 'clusterIds'>,
): Promise<{ client: StoredClient; created: boolean }> {
  const { tenantId, name, clusterIds } = spec;
  const id = crypto.randomUUID();
  const ids = clusterIds && [...clusterIds];
  const insert = manager.createQueryBuilder().insert().into(ClientRow);
  // One that is known needs no room.
  if (!(await manager.existsBy(ClientRow, { tenantId, name }))) await holdRoom(manager, tenantId, 'clients');
  await insert.values({ id, tenantId, name, clusterIds: ids, notAfter: null }).orIgnore().execute();
  const client = await lockClient(manager, tenantId, name);
  return { client, created: client.id === id };
}

/** Reads a client and keeps it from changing until the transaction ends. NOT_FOUND if there is none of that name. */
export async function lockClient(manager: EntityManager, tenantId: string, name: string): Promise<StoredClient> {
  const row = await manager.findOne(ClientRow, { where: { tenantId, name }, lock: { mode: 'pessimistic_write' } });
  if (!row) throw new FairleadError('NOT_FOUND', `there is no client named ${name}`);
  return row;
}

/** By name, beginning after `after`. */
export function listClients(
  manager: EntityManager,
  tenantId: string,
  after: string,
  limit: number,
): Promise<StoredClient[]> {
  return manager.find(ClientRow, { where: { tenantId, name: MoreThan(after) }, order: { name: 'ASC' }, take: limit });
}

/** Every client of every tenant. */
export function allClients(manager: EntityManager): Promise<StoredClient[]> {
  return manager.find(ClientRow);
}

export async function markCertified(manager: EntityManager, id: string, notAfter: Date): Promise<void> {
  await manager.update(ClientRow, { id }, { notAfter });
}

/** A list that becomes empty stays a list: such a client reaches nothing, and never everything. */
export async function forgetCluster(manager: EntityManager, tenantId: string, clusterId: string): Promise<void> {
  await manager
    .createQueryBuilder()
    .update(ClientRow)
    .set({ clusterIds: () => 'array_remove(cluster_ids, :clusterId::uuid)' })
    .where('tenant_id = :tenantId and cluster_ids @> array[:clusterId::uuid]', { tenantId, clusterId })
    .execute();
}

export async function deleteClient(manager: EntityManager, id: string): Promise<void> {
  await manager.delete(ClientRow, { id });
}
