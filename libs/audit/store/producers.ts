import type { EntityManager } from 'typeorm';
import type { NumberRange, Sequence } from '../domain/sequence.js';

export interface StoredGap extends NumberRange {
  readonly foundAt: Date;
  readonly announced: boolean;
}

/** Of one epoch, locked until the transaction ends. */
export interface LockedProducer {
  readonly producer: string;
  readonly epoch: string;
  readonly mark: number;
  readonly gaps: readonly StoredGap[];
  /** The epoch that was this producer's newest until this one came, as it is now; null once the log tells of it, and if there was none. */
  readonly after: EpochBefore | null;
}

export interface EpochBefore {
  readonly epoch: string;
  readonly mark: number;
  /** Its gateway said that it had handed on everything, and that was the last of it. */
  readonly ended: boolean;
}

export async function lockProducer(
  manager: EntityManager,
  producer: string,
  epoch: string,
  now: Date,
): Promise<LockedProducer> {
  await manager.query(
    `insert into producers (producer, epoch, first_at, last_at, untold_after) values ($1, $2, $3, $3,
       (select epoch from producers where producer = $1 and epoch <> $2 order by first_at desc, epoch limit 1))
     on conflict do nothing`,
    [producer, epoch, now],
  );
  const [row] = (await manager.query(
    'select mark, untold_after from producers where producer = $1 and epoch = $2 for update',
    [producer, epoch],
  )) as { mark: string; untold_after: string | null }[];
  const after = await findEpoch(manager, producer, row?.untold_after ?? null);
  return { producer, epoch, mark: Number(row?.mark ?? 0), gaps: await gapsOf(manager, producer, epoch), after };
}

async function findEpoch(manager: EntityManager, producer: string, epoch: string | null): Promise<EpochBefore | null> {
  if (epoch === null) return null;
  const [row] = (await manager.query('select mark, ended from producers where producer = $1 and epoch = $2', [
    producer,
    epoch,
  ])) as { mark: string; ended: boolean }[];
  return row ? { epoch, mark: Number(row.mark), ended: row.ended } : null;
}

async function gapsOf(manager: EntityManager, producer: string, epoch: string): Promise<StoredGap[]> {
  const rows = (await manager.query(
    `select first_number, last_number, found_at, announced from gaps
      where producer = $1 and epoch = $2 order by first_number`,
    [producer, epoch],
  )) as { first_number: string; last_number: string; found_at: Date; announced: boolean }[];
  return rows.map((row) => ({
    from: Number(row.first_number),
    to: Number(row.last_number),
    foundAt: row.found_at,
    announced: row.announced,
  }));
}

/** What is left of a gap is as old as the gap, and as much announced. An epoch that ended has not, once it has more numbers: its gateway came back to what it had. */
export async function saveSequence(
  manager: EntityManager,
  { producer, epoch, gaps, mark: before }: LockedProducer,
  { mark, missing, ends }: Sequence & { readonly ends: boolean },
  now: Date,
): Promise<void> {
  await manager.query(
    `update producers set mark = $3, last_at = $4, ended = case when $5 then true when $6 then false else ended end
      where producer = $1 and epoch = $2`,
    [producer, epoch, mark, now, ends, mark > before],
  );
  const unchanged =
    missing.length === gaps.length && missing.every(({ from, to }, at) => sameRange(gaps[at], from, to));
  if (unchanged) return;
  const kept = missing.map(({ from, to }) => {
    const of = gaps.find((gap) => gap.from <= from && to <= gap.to);
    return { from, to, foundAt: of?.foundAt ?? now, announced: of?.announced ?? false };
  });
  await manager.query('delete from gaps where producer = $1 and epoch = $2', [producer, epoch]);
  await manager.query(
    `insert into gaps (producer, epoch, first_number, last_number, found_at, announced)
     select $1, $2, * from unnest($3::bigint[], $4::bigint[], $5::timestamptz[], $6::boolean[])`,
    [
      producer,
      epoch,
      kept.map(({ from }) => from),
      kept.map(({ to }) => to),
      kept.map(({ foundAt }) => foundAt.toISOString()),
      kept.map(({ announced }) => announced),
    ],
  );
}

function sameRange(gap: NumberRange | undefined, from: number, to: number): boolean {
  return gap?.from === from && gap.to === to;
}

/** Epochs that came before then and were not the first, or have gaps that were found before then, where no log tells of it yet. */
export async function epochsToAnnounce(
  manager: EntityManager,
  before: Date,
): Promise<{ producer: string; epoch: string }[]> {
  return (await manager.query(
    `select producer, epoch from gaps where not announced and found_at <= $1
     union select producer, epoch from producers where untold_after is not null and first_at <= $1
     order by 1, 2 limit 100`,
    [before],
  )) as { producer: string; epoch: string }[];
}

/** These gaps, and which epoch it came after. */
export async function markAnnounced(
  manager: EntityManager,
  { producer, epoch }: LockedProducer,
  announced: readonly NumberRange[],
): Promise<void> {
  await manager.query('update producers set untold_after = null where producer = $1 and epoch = $2', [producer, epoch]);
  await manager.query(
    'update gaps set announced = true where producer = $1 and epoch = $2 and first_number = any($3::bigint[])',
    [producer, epoch, announced.map(({ from }) => from)],
  );
}

export interface ProducerRow {
  readonly producer: string;
  readonly epoch: string;
  readonly mark: number;
  readonly firstAt: Date;
  readonly lastAt: Date;
  readonly current: boolean;
  readonly gaps: readonly StoredGap[];
}

/** Of a stream, which numbers its messages itself: no spool has such an epoch. */
export const STREAM_EPOCH = 'stream';

/** Gateways by name, the newest epoch of each first; at most so many. */
export async function listProducers(manager: EntityManager, limit: number): Promise<ProducerRow[]> {
  const rows = (await manager.query(
    `select producer, epoch, mark, first_at, last_at,
            row_number() over (partition by producer order by first_at desc, epoch) = 1 as current
       from producers where epoch <> $2 order by producer, first_at desc, epoch limit $1`,
    [limit, STREAM_EPOCH],
  )) as { producer: string; epoch: string; mark: string; first_at: Date; last_at: Date; current: boolean }[];
  const listed: ProducerRow[] = [];
  for (const { producer, epoch, mark, first_at: firstAt, last_at: lastAt, current } of rows) {
    const gaps = await gapsOf(manager, producer, epoch);
    listed.push({ producer, epoch, mark: Number(mark), firstAt, lastAt, current, gaps });
  }
  return listed;
}
