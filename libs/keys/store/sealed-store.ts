import type { EntityManager } from 'typeorm';
import { sealedContext } from '../domain/sealed-context.js';
import { lockGitHosts } from './git-host-store.js';
import { sealedBySql } from './sealer.js';

/** Every place where something is sealed. A column that is added to the schema belongs here: a rewrap would leave it out otherwise. */
const PLACES = [
  {
    table: 'authorities',
    column: 'sealed_key',
    key: 'id',
    also: 'kind',
    context: ({ key, also }: FoundRow): string => sealedContext.authority(key, also),
  },
  {
    table: 'issuing_requests',
    column: 'sealed_key',
    key: 'spki_sha256',
    also: `''`,
    context: ({ key }: FoundRow): string => sealedContext.issuingRequest(key),
  },
  {
    table: 'audit_logs',
    column: 'sealed_key',
    key: 'tenant_id',
    also: `''`,
    context: ({ key }: FoundRow): string => sealedContext.auditLog(key),
  },
  {
    table: 'webhook_secrets',
    column: 'sealed_secret',
    key: 'id',
    also: `''`,
    context: ({ key }: FoundRow): string => sealedContext.webhookSecret(key),
  },
  {
    table: 'git_hosts',
    column: 'sealed_token',
    key: 'id',
    also: 'tenant_id',
    context: ({ key }: FoundRow): string => sealedContext.gitToken(key),
  },
] as const;

export type SealedPlace = (typeof PLACES)[number]['table'];
export const SEALED_PLACES: readonly SealedPlace[] = PLACES.map(({ table }) => table);

interface FoundRow {
  readonly key: string;
  readonly also: string;
  readonly sealed: Buffer;
}

/** One secret, as it is sealed now. */
export interface SealedRow {
  readonly place: SealedPlace;
  readonly key: string;
  readonly also: string;
  readonly context: string;
  readonly sealed: Buffer;
}

/** How many secrets each master key sealed. */
export interface SealedCount {
  /** Null: those from before keys had names, by a file or FAIRLEAD_MASTER_KEY. */
  readonly keyName: string | null;
  readonly rows: number;
}

/** Of all places together, in the order of their names. */
export async function countSealed(manager: EntityManager): Promise<SealedCount[]> {
  const each = PLACES.map(
    ({ table, column }) => `select ${sealedBySql(column)} as name from ${table} where ${column} is not null`,
  );
  return (await manager.query(
    `select name as "keyName", count(*)::int as rows from (${each.join(' union all ')}) as sealed group by name order by name`,
  )) as SealedCount[];
}

/** At most `limit` of a place that any other master key sealed, with a key above `after`, in their order. */
export async function sealedByOthers(
  manager: EntityManager,
  place: SealedPlace,
  keyName: string,
  { after, limit }: { readonly after: string | null; readonly limit: number },
): Promise<SealedRow[]> {
  const { table, column, key, also, context } = placeOf(place);
  const rows = (await manager.query(
    `select ${key}::text as key, ${also} as also, ${column} as sealed from ${table}
     where ${column} is not null and ${sealedBySql(column)} is distinct from $1 and ($2::text is null or ${key}::text > $2)
     order by ${key}::text limit $3`,
    [keyName, after, limit],
  )) as FoundRow[];
  return rows.map((row) => ({ ...row, place, context: context(row) }));
}

/** Puts the same secret, sealed anew, in the place of what was read. False: somebody changed it, or took it away, meanwhile. */
export async function replaceSealed(manager: EntityManager, row: SealedRow, sealed: Buffer): Promise<boolean> {
  const { table, column, key } = placeOf(row.place);
  // Who configures a Git host writes the whole row, and reads it under this lock.
  if (row.place === 'git_hosts') await lockGitHosts(manager, row.also);
  const [, count] = (await manager.query(
    `update ${table} set ${column} = $1 where ${key}::text = $2 and ${column} = $3`,
    [sealed, row.key, row.sealed],
  )) as [unknown[], number];
  return count === 1;
}

function placeOf(place: SealedPlace): (typeof PLACES)[number] {
  const found = PLACES.find(({ table }) => table === place);
  if (!found) throw new Error(`nothing is sealed in ${place}`);
  return found;
}
