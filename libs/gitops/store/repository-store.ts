import { FairleadError } from '@fairlead/errors';
import type { EntityManager } from 'typeorm';
import { RepositoryRow } from './entities.js';

export type StoredRepository = Readonly<RepositoryRow>;

/** The one of that name; it is made if there is none. */
export async function ensureRepository(
  manager: EntityManager,
  row: Omit<StoredRepository, 'id' | 'createdAt'>,
): Promise<{ repository: StoredRepository; created: boolean }> {
  const id = crypto.randomUUID();
  const insert = manager.createQueryBuilder().insert().into(RepositoryRow);
  await insert
    .values({ ...row, id })
    .orIgnore()
    .execute();
  const repository = await findRepository(manager, row.tenantId, row.name);
  return { repository, created: repository.id === id };
}

/** NOT_FOUND if there is none of that name. */
export async function findRepository(
  manager: EntityManager,
  tenantId: string,
  name: string,
): Promise<StoredRepository> {
  const row = await manager.findOneBy(RepositoryRow, { tenantId, name });
  if (!row) throw new FairleadError('NOT_FOUND', `there is no repository named ${name}`);
  return row;
}

export function countRepositories(manager: EntityManager, tenantId: string): Promise<number> {
  return manager.countBy(RepositoryRow, { tenantId });
}

/** By name. */
export function listRepositories(manager: EntityManager, tenantId: string): Promise<StoredRepository[]> {
  return manager.find(RepositoryRow, { where: { tenantId }, order: { name: 'ASC' } });
}

export function allRepositories(manager: EntityManager): Promise<StoredRepository[]> {
  return manager.find(RepositoryRow);
}

/** As its host shows it now, and as somebody wants it. */
export async function updateRepository(
  manager: EntityManager,
  id: string,
  change: Pick<StoredRepository, 'sshUrl' | 'defaultBranch' | 'rotateKeysSeconds'>,
): Promise<void> {
  await manager.update(RepositoryRow, { id }, change);
}

export async function deleteRepository(manager: EntityManager, id: string): Promise<void> {
  await manager.delete(RepositoryRow, { id });
}
