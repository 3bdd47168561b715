import type { EntityManager } from 'typeorm';

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

/** Those that began before then, the oldest first, behind the one that is given. */
export async function intentsBefore(
  manager: EntityManager,
  before: Date,
  { limit, after }: { readonly limit: number; readonly after: OpenIntent | undefined },
): Promise<OpenIntent[]> {
  const behind = after ? 'and (at, producer, passage_id) > ($3, $4, $5)' : '';
  const rows = (await manager.query(
    `select producer, passage_id as "passageId", epoch, tenant_id as "tenantId", number, at, user_name as "user", cluster, action
       from open_intents where at < $1 ${behind} order by at, producer, passage_id limit $2`,
    [before, limit, ...(after ? [after.at, after.producer, after.passageId] : [])],
  )) as (Omit<OpenIntent, 'number'> & { number: string })[];
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

/** For what came in another order than it was written: has an outcome of this passage become an entry before? `source`: whose word counts; anybody else may have said the same id. */
export async function hasEntryWith(
  manager: EntityManager,
  { tenantId, source, facet }: { readonly tenantId: string; readonly source: string; readonly facet: string },
): Promise<boolean> {
  const rows = (await manager.query(
    'select 1 from entries where tenant_id = $1 and source = $2 and facets @> $3::text[] limit 1',
    [tenantId, source, [facet]],
  )) as unknown[];
  return rows.length > 0;
}
