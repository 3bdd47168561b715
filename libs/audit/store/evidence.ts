import type { AuditEvidence } from '@fairlead/contracts';
import type { EntityManager } from 'typeorm';
import { sinceNumber } from './search.js';

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
  const parameters: unknown[] = [tenantId, after, upTo];
  const parameter = (value: unknown): string => `$${parameters.push(value)}`;
  const conditions = ['tenant_id = $1', 'number > $2', 'number <= $3'];
  conditions.push(...(await sinceNumber(manager, tenantId, after, parameter)));
  // In the order of an index that each day has: numbers go up with the time of recording.
  const rows = (await manager.query(
    `select number, body, nonce from entries where ${conditions.join(' and ')} order by recorded_at, number limit ${parameter(limit)}`,
    parameters,
  )) as Row[];
  return rows.map(({ number, body, nonce }) => ({
    number: Number(number),
    body,
    nonce: nonce && nonce.toString('base64'),
  }));
}
