import type { AuditTree } from '@fairlead/contracts';
import { withAdvisoryLock } from '@fairlead/persistence';
import type { EntityManager } from 'typeorm';

/** The audit log of one tenant, as it was signed last. */
export interface StoredAuditLog extends AuditTree {
  readonly tenantId: string;
  readonly sealedKey: Buffer;
  /** The checkpoint that was signed last, as text. */
  readonly note: string;
  readonly verifierKey: string;
  readonly signedAt: Date;
}

const COLUMNS = `tenant_id as "tenantId", incarnation, size, root, sealed_key as "sealedKey", note, verifier_key as "verifierKey", signed_at as "signedAt"`;

/** Null: nothing of it was ever signed. */
export async function findAuditLog(manager: EntityManager, tenantId: string): Promise<StoredAuditLog | null> {
  const rows = (await manager.query(`select ${COLUMNS} from audit_logs where tenant_id = $1`, [tenantId])) as (Omit<
    StoredAuditLog,
    'size'
  > & { readonly size: string })[];
  const [row] = rows;
  return row ? { ...row, size: Number(row.size) } : null;
}

/** The same. One at a time decides what is signed next, until the transaction ends. */
export async function lockAuditLog(manager: EntityManager, tenantId: string): Promise<StoredAuditLog | null> {
  await withAdvisoryLock(manager, `audit-log:${tenantId}`);
  return findAuditLog(manager, tenantId);
}

export async function saveAuditLog(manager: EntityManager, log: StoredAuditLog): Promise<void> {
  const { tenantId, incarnation, size, root, sealedKey, note, verifierKey, signedAt } = log;
  await manager.query(
    `insert into audit_logs (tenant_id, incarnation, size, root, sealed_key, note, verifier_key, signed_at) values ($1, $2, $3, $4, $5, $6, $7, $8)
     on conflict (tenant_id) do update set incarnation = excluded.incarnation, size = excluded.size, root = excluded.root,
       note = excluded.note, verifier_key = excluded.verifier_key, signed_at = excluded.signed_at`,
    [tenantId, incarnation, size, root, sealedKey, note, verifierKey, signedAt],
  );
}
