import type { AuditEvidence } from '@fairlead/contracts';
import type { EntityManager } from 'typeorm';

interface Row {
  readonly number: string;
  readonly body: string | null;
  readonly nonce: Buffer | null;
}

/** By number, above `after` and none above `upTo`. */
export async function evidenceAfter(
  manager: EntityManager,
  tenantId: string,
  { after, upTo, limit }: { readonly after: number; readonly upTo: number; readonly limit: number },
): Promise<AuditEvidence[]> {
  const rows = (await manager.query(
    'select number, body, nonce from entries where tenant_id = $1 and number > $2 and number <= $3 order by number limit $4',
    [tenantId, after, upTo, limit],
  )) as Row[];
  return rows.map(({ number, body, nonce }) => ({
    number: Number(number),
    body,
    nonce: nonce && nonce.toString('base64'),
  }));
}
