import { EMPTY_LOG, EMPTY_ROOT, appendBatch } from '@fairlead/transparency-log';
import { leafOf } from '../domain/leaf.js';

/** Runs a statement with the rights of somebody who has those of the service. */
export type Query = (statement: string, values?: readonly unknown[]) => Promise<unknown[]>;

/** What makes `keys` forget what it signed: run it with the rights of that service. */
export const FORGET_SIGNED = `update audit_logs set size = 0, root = '${Buffer.from(EMPTY_ROOT).toString('base64')}' where tenant_id = $1`;

/**
 * Writes the whole log of a tenant anew, with the body of entry 3 changed: all leaves, tiles and the root, so that all of it fits together. Nothing may be added to it meanwhile.
 */
export async function rewriteLog(query: Query, tenantId: string): Promise<void> {
  const rows = (await query('select number, body, nonce from entries where tenant_id = $1 order by number', [
    tenantId,
  ])) as { number: string; body: string; nonce: Buffer }[];
  const bodies = rows.map(({ body }, at) => (at === 2 ? body.replace('"id":"', '"id":"0') : body));
  const leaves = rows.map(({ nonce }, at) => leafOf(bodies[at] ?? '', nonce).bytes);
  const forged = appendBatch(EMPTY_LOG, leaves);
  await query('update entries set body = $2 where tenant_id = $1 and number = 3', [tenantId, bodies[2]]);
  await query('delete from audit_tiles where tenant_id = $1', [tenantId]);
  const tiles = [
    ...forged.newTiles.map(({ level, index, bytes }) => [level, index, bytes] as const),
    ...forged.newBundles.map(({ index, bytes }) => [-1, index, bytes] as const),
  ];
  for (const [kind, index, bytes] of tiles)
    await query('insert into audit_tiles values ($1, 1, $2, $3, $4)', [tenantId, kind, index, Buffer.from(bytes)]);
  const root = Buffer.from(forged.root);
  await query('update audit_trees set root = $2, signed_size = 0 where tenant_id = $1', [tenantId, root]);
}

const TABLES_OF_LOG = ['tenant_logs', 'entries', 'segments', 'audit_trees', 'audit_tiles'];

/** Keeps what the database of the audit service has of a log now, to restore it later. */
export async function backUpLog(query: Query, tenantId: string): Promise<void> {
  for (const table of TABLES_OF_LOG)
    await query(`create table kept_${table}_${tenantId} as select * from ${table} where tenant_id = '${tenantId}'`);
}

/** Nothing may be added meanwhile: in one transaction. */
export async function restoreLog(query: Query, tenantId: string): Promise<void> {
  await query('begin');
  for (const table of TABLES_OF_LOG) {
    await query(`delete from ${table} where tenant_id = $1`, [tenantId]);
    await query(`insert into ${table} select * from kept_${table}_${tenantId}`);
  }
  await query('commit');
}
