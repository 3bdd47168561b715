import { FairleadError } from '@fairlead/errors';
import type { EntityManager } from 'typeorm';
import { BundleRow } from './entities.js';

export type StoredBundle = Readonly<Omit<BundleRow, 'content'>>;
type BundleKey = Pick<BundleRow, 'tenantId' | 'tool' | 'version'>;

/** The one of that tool and version; it is stored if there is none. */
export async function ensureBundle(
  manager: EntityManager,
  row: Readonly<Omit<BundleRow, 'id'>>,
): Promise<{ bundle: StoredBundle; created: boolean }> {
  const id = crypto.randomUUID();
  const insert = manager.createQueryBuilder().insert().into(BundleRow);
  await insert
    .values({ ...row, id })
    .orIgnore()
    .execute();
  const bundle = await findBundle(manager, row);
  return { bundle, created: bundle.id === id };
}

/** NOT_FOUND if there is none. */
export async function findBundle(
  manager: EntityManager,
  { tenantId, tool, version }: BundleKey,
): Promise<StoredBundle> {
  const row = await manager.findOneBy(BundleRow, { tenantId, tool, version });
  if (!row) throw new FairleadError('NOT_FOUND', `there is no bundle ${tool} ${version}`);
  return row;
}

export function countBundles(manager: EntityManager, tenantId: string): Promise<number> {
  return manager.countBy(BundleRow, { tenantId });
}

/** Newest first. */
export function listBundles(manager: EntityManager, tenantId: string): Promise<StoredBundle[]> {
  return manager.find(BundleRow, { where: { tenantId }, order: { importedAt: 'DESC' } });
}

export function allBundles(manager: EntityManager): Promise<StoredBundle[]> {
  return manager.find(BundleRow);
}

export async function deleteBundle(manager: EntityManager, id: string): Promise<void> {
  await manager.delete(BundleRow, { id });
}

/** Bytes of the gzip from `offset`; undefined if no bundle has this digest. */
export async function readBundlePiece(
  manager: EntityManager,
  tenantId: string,
  digest: string,
  range: { readonly offset: number; readonly length: number },
): Promise<{ piece: Buffer; compressedBytes: number } | undefined> {
  const rows = (await manager.query(
    `select substring(content from $3 for $4) as piece, compressed_bytes as "compressedBytes"
       from bundles where tenant_id = $1 and digest = $2 limit 1`,
    [tenantId, digest, range.offset + 1, range.length],
  )) as { piece: Buffer; compressedBytes: number }[];
  return rows[0];
}
