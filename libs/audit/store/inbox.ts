import type { EntityManager } from 'typeorm';

/** Notes what came from a source. Returns the ids that had not come before, each once. */
export async function takeNew(
  manager: EntityManager,
  received: readonly { readonly source: string; readonly id: string }[],
  now: Date,
): Promise<Set<string>> {
  const rows = (await manager.query(
    `insert into inbox (source, id, received_at)
     select source, id, $3 from unnest($1::text[], $2::uuid[]) as given (source, id) order by source, id
     on conflict do nothing returning source, id`,
    [received.map(({ source }) => source), received.map(({ id }) => id), now],
  )) as { source: string; id: string }[];
  return new Set(rows.map(({ source, id }) => `${source} ${id}`));
}

/** At most so many, so that no statement takes long. Returns how many. */
export async function forgetReceived(manager: EntityManager, before: Date, limit: number): Promise<number> {
  const [, count] = (await manager.query(
    `delete from inbox where (source, id) in (select source, id from inbox where received_at < $1 limit $2)`,
    [before, limit],
  )) as [unknown, number];
  return count;
}
