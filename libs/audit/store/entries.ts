import type { EntityManager } from 'typeorm';
import type { NewEntry } from '../domain/entry.js';
import { leafOf, type Leaf } from '../domain/leaf.js';

/**
 * Joins leaves to a tenant's transparency log, in the order of their numbers, of which the first one has this; in the transaction that adds the entries, while nobody
 * else adds to that log.
 */
export type AppendToLog = (
  manager: EntityManager,
  tenantId: string,
  firstNumber: number,
  leaves: readonly Buffer[],
) => Promise<void>;

export interface Numbered {
  readonly entry: NewEntry;
  readonly number: number;
}

interface Head {
  readonly size: number;
  readonly recordedAt: Date;
}

/**
 * Numbers these entries, each log's in the order in which they are given, and keeps them. Their logs are locked from then on, by name, until the transaction ends: take other
 * locks before.
 */
export async function appendEntries(
  manager: EntityManager,
  entries: readonly NewEntry[],
  now: Date,
  appendToLog: AppendToLog,
): Promise<Numbered[]> {
  const tenants = new Set(entries.map(({ tenantId }) => tenantId));
  const numbered: Numbered[] = [];
  for (const tenantId of [...tenants].sort()) {
    const own = entries.filter((entry) => entry.tenantId === tenantId);
    const head = await lockLog(manager, tenantId, now);
    const rows = own.map((entry, at) => ({ entry, number: head.size + at + 1 }));
    const leaves = own.map(({ body }) => leafOf(body));
    await insertEntries(manager, rows, leaves, head.recordedAt);
    await appendToLog(
      manager,
      tenantId,
      head.size + 1,
      leaves.map(({ bytes }) => bytes),
    );
    await moveHead(manager, tenantId, head, own.length);
    numbered.push(...rows);
  }
  return numbered;
}

/** What tells of all: every log there is, and that of the installation. */
export async function logsThereAre(manager: EntityManager, installation: string): Promise<string[]> {
  const rows = (await manager.query('select tenant_id from tenant_logs')) as { tenant_id: string }[];
  return [...new Set([installation, ...rows.map((row) => row.tenant_id)])];
}

async function lockLog(manager: EntityManager, tenantId: string, now: Date): Promise<Head> {
  await manager.query('insert into tenant_logs (tenant_id) values ($1) on conflict do nothing', [tenantId]);
  const rows = (await manager.query(
    `select size, greatest(last_recorded_at, $2::timestamptz) as recorded_at
       from tenant_logs where tenant_id = $1 for update`,
    [tenantId, now],
  )) as [{ size: string; recorded_at: Date }];
  return { size: Number(rows[0].size), recordedAt: rows[0].recorded_at };
}

/** Between facets; in none of them. */
const SEPARATOR = '\u001f';

async function insertEntries(
  manager: EntityManager,
  rows: readonly Numbered[],
  leaves: readonly Leaf[],
  recordedAt: Date,
): Promise<void> {
  const column = <T>(value: (entry: NewEntry) => T): T[] => rows.map(({ entry }) => value(entry));
  const [first] = rows;
  if (!first) return;
  await manager.query(
    `insert into entries (tenant_id, recorded_at, number, at, kind, source, user_name, cluster, action, decision, facets,
                          body, nonce)
     select $1, $2, number, at, kind, source, user_name, cluster, action, decision,
            string_to_array(facets, E'\\x1f'), body, nonce
       from unnest($3::bigint[], $4::timestamptz[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
                   $10::text[], $11::text[], $12::text[], $13::bytea[])
         as given (number, at, kind, source, user_name, cluster, action, decision, facets, body, nonce)`,
    [
      first.entry.tenantId,
      recordedAt,
      rows.map(({ number }) => number),
      column(({ at }) => at.toISOString()),
      column(({ kind }) => kind),
      column(({ source }) => source),
      column(({ user }) => user),
      column(({ cluster }) => cluster),
      column(({ action }) => action),
      column(({ decision }) => decision),
      column(({ facets }) => facets.map((each) => each.replaceAll(SEPARATOR, ' ')).join(SEPARATOR)),
      column(({ body }) => body),
      leaves.map(({ nonce }) => nonce),
    ],
  );
}

async function moveHead(manager: EntityManager, tenantId: string, head: Head, added: number): Promise<void> {
  const size = head.size + added;
  await manager.query('update tenant_logs set size = $2, last_recorded_at = $3 where tenant_id = $1', [
    tenantId,
    size,
    head.recordedAt,
  ]);
  await manager.query(
    `insert into segments (tenant_id, day, first_number, last_number)
     values ($1, ($2::timestamptz at time zone 'UTC')::date, $3, $4)
     on conflict (tenant_id, day) do update set last_number = excluded.last_number`,
    [tenantId, head.recordedAt, head.size + 1, size],
  );
}
