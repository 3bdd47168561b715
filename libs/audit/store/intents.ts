import type { EntityManager } from 'typeorm';
import { MAX_SKEW_MS } from './search.js';

/** An intent of which no outcome has come yet. */
export interface OpenIntent {
  readonly producer: string;
  readonly passageId: string;
  readonly epoch: string;
  readonly tenantId: string;
  readonly number: number;
  readonly at: Date;
  readonly user: string;
  readonly cluster: string;
  readonly action: string;
}

export async function addIntents(manager: EntityManager, intents: readonly OpenIntent[]): Promise<void> {
  if (intents.length === 0) return;
  const column = <T>(value: (intent: OpenIntent) => T): T[] => intents.map(value);
  await manager.query(
    `insert into open_intents (producer, passage_id, epoch, tenant_id, number, at, user_name, cluster, action)
     select * from unnest($1::text[], $2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::timestamptz[], $7::text[],
                          $8::text[], $9::text[])
     on conflict do nothing`,
    [
      column(({ producer }) => producer),
      column(({ passageId }) => passageId),
      column(({ epoch }) => epoch),
      column(({ tenantId }) => tenantId),
      column(({ number }) => number),
      column(({ at }) => at.toISOString()),
      column(({ user }) => user),
      column(({ cluster }) => cluster),
      column(({ action }) => action),
    ],
  );
}

/** Their gateway lost how they ended, and will not tell it. */
export async function loseOutcomes(
  manager: EntityManager,
  producer: string,
  passageIds: readonly string[],
): Promise<void> {
  if (passageIds.length === 0) return;
  await manager.query('update open_intents set lost = true where producer = $1 and passage_id = any($2::uuid[])', [
    producer,
    passageIds,
  ]);
}

export async function closeIntents(
  manager: EntityManager,
  producer: string,
  passageIds: readonly string[],
): Promise<void> {
  if (passageIds.length === 0) return;
  await manager.query('delete from open_intents where producer = $1 and passage_id = any($2::uuid[])', [
    producer,
    passageIds,
  ]);
}

/** An intent that is open in the database. */
export interface StoredIntent extends OpenIntent {
  readonly lost: boolean;
}

/** Those that began before then, the oldest first, behind the one that is given. */
export async function intentsBefore(
  manager: EntityManager,
  before: Date,
  { limit, after }: { readonly limit: number; readonly after: OpenIntent | undefined },
): Promise<StoredIntent[]> {
  const behind = after ? 'and (at, producer, passage_id) > ($3, $4, $5)' : '';
  const rows = (await manager.query(
    `select producer, passage_id as "passageId", epoch, tenant_id as "tenantId", number, at, user_name as "user", cluster, action, lost
       from open_intents where at < $1 ${behind} order by at, producer, passage_id limit $2`,
    [before, limit, ...(after ? [after.at, after.producer, after.passageId] : [])],
  )) as (Omit<StoredIntent, 'number'> & { number: string })[];
  return rows.map((row) => ({ ...row, number: Number(row.number) }));
}

/** Whether it is still open; and from now on it is not. */
export async function takeIntent(manager: EntityManager, { producer, passageId }: OpenIntent): Promise<boolean> {
  const [, count] = (await manager.query('delete from open_intents where producer = $1 and passage_id = $2', [
    producer,
    passageId,
  ])) as [unknown, number];
  return count > 0;
}

interface OutcomeSought {
  readonly tenantId: string;
  readonly source: string;
  readonly facet: string;
  /** By the clock of its gateway: nothing recorded long before is looked at. */
  readonly since: Date;
}

/** For what came in another order than it was written: has an outcome of this passage become an entry before? `source`: whose word counts; anybody else may have said the same id. */
export async function hasEntryWith(
  manager: EntityManager,
  { tenantId, source, facet, since }: OutcomeSought,
): Promise<boolean> {
  const rows = (await manager.query(
    'select 1 from entries where tenant_id = $1 and source = $2 and facets @> $3::text[] and recorded_at >= $4 limit 1',
    [tenantId, source, [facet], new Date(since.getTime() - MAX_SKEW_MS)],
  )) as unknown[];
  return rows.length > 0;
}
