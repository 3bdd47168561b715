import { withAdvisoryLock } from '@fairlead/persistence';
import type { EntityManager } from 'typeorm';

/** Of one tenant, as it was signed last. */
export interface StoredRevocations {
  readonly tenantId: string;
  readonly number: number;
  /** What was signed. */
  readonly document: Buffer;
  readonly envelope: Buffer;
  /** The chain above the signer, PEM. */
  readonly issuers: string;
  readonly signedAt: Date;
}

const COLUMNS = `tenant_id as "tenantId", number, document, envelope, issuers, signed_at as "signedAt"`;

/** The list of a tenant. One at a time decides what the next one is, until the transaction ends. */
export async function lockRevocations(
  manager: EntityManager,
  tenantId: string,
): Promise<StoredRevocations | undefined> {
  await withAdvisoryLock(manager, `statement-revocations:${tenantId}`);
  const [row] = await select(manager, 'where tenant_id = $1', [tenantId]);
  return row;
}

/** Of all tenants; there are few, as of tenants. */
export function allRevocations(manager: EntityManager): Promise<StoredRevocations[]> {
  return select(manager, 'order by tenant_id', []);
}

export async function saveRevocations(manager: EntityManager, stored: StoredRevocations): Promise<void> {
  const { tenantId, number, document, envelope, issuers, signedAt } = stored;
  await manager.query(
    `insert into statement_revocation_lists (tenant_id, number, document, envelope, issuers, signed_at) values ($1, $2, $3, $4, $5, $6)
     on conflict (tenant_id) do update set number = excluded.number, document = excluded.document, envelope = excluded.envelope,
       issuers = excluded.issuers, signed_at = excluded.signed_at`,
    [tenantId, number, document, envelope, issuers, signedAt],
  );
}

async function select(manager: EntityManager, where: string, values: unknown[]): Promise<StoredRevocations[]> {
  const rows = (await manager.query(`select ${COLUMNS} from statement_revocation_lists ${where}`, values)) as (Omit<
    StoredRevocations,
    'number'
  > & { readonly number: string })[];
  return rows.map((row) => ({ ...row, number: Number(row.number) }));
}
