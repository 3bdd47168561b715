import { EMPTY_ROOT } from '@fairlead/transparency-log';
import type { EntityManager } from 'typeorm';

/** The tree of one tenant's audit log. */
export interface StoredTree {
  readonly tenantId: string;
  readonly incarnation: number;
  readonly size: number;
  readonly root: Buffer;
  /** How many of these records `keys` has signed, as far as is known here. */
  readonly signedSize: number;
}

type TreeRow = Omit<StoredTree, 'size' | 'signedSize'> & { readonly size: string; readonly signedSize: string };
const COLUMNS = `tenant_id as "tenantId", incarnation, size, root, signed_size as "signedSize"`;

/** Made where there is none. Whoever has it is the one who appends to it, until the transaction ends. */
export async function lockTree(manager: EntityManager, tenantId: string): Promise<StoredTree> {
  await manager.query('insert into audit_trees (tenant_id, root) values ($1, $2) on conflict do nothing', [
    tenantId,
    Buffer.from(EMPTY_ROOT),
  ]);
  const [tree] = await select(manager, 'where tenant_id = $1 for update', [tenantId]);
  if (!tree) throw new Error(`the audit tree of ${tenantId} went away`);
  return tree;
}

export async function findTree(manager: EntityManager, tenantId: string): Promise<StoredTree | undefined> {
  const [tree] = await select(manager, 'where tenant_id = $1', [tenantId]);
  return tree;
}

/** Those with records that no checkpoint is of. */
export function treesToSign(manager: EntityManager): Promise<StoredTree[]> {
  return select(manager, 'where size > signed_size order by tenant_id', []);
}

/** Those of which `keys` has signed something, and about which nobody asks witnesses just now. */
export function treesToWitness(manager: EntityManager, now: Date): Promise<StoredTree[]> {
  return select(manager, 'where signed_size > 0 and witnesses_after <= $1 order by tenant_id', [now]);
}

export async function saveTree(manager: EntityManager, tree: StoredTree): Promise<void> {
  const { tenantId, incarnation, size, root, signedSize } = tree;
  await manager.query(
    'update audit_trees set incarnation = $2, size = $3, root = $4, signed_size = $5 where tenant_id = $1',
    [tenantId, incarnation, size, root, signedSize],
  );
}

async function select(manager: EntityManager, where: string, values: unknown[]): Promise<StoredTree[]> {
  const rows = await manager.query<TreeRow[]>(`select ${COLUMNS} from audit_trees ${where}`, values);
  return rows.map((row) => ({ ...row, size: Number(row.size), signedSize: Number(row.signedSize) }));
}
