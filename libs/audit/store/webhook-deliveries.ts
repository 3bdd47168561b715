import type { EntityManager } from 'typeorm';
import { momentOf } from './search.js';

/** An entry that is a CloudEvent. */
export interface EventEntry {
  readonly number: number;
  readonly recordedAt: Date;
  /** Without what all have in common, and without its version: `grant.created`. */
  readonly type: string;
}

/** A message that is to be delivered. */
export interface Delivery {
  readonly number: number;
  readonly claim: string;
  /** Of the process that makes it: an attempt counts only while the webhook is still its own. */
  readonly lease: string;
  /** That failed. */
  readonly attempts: number;
  /** The CloudEvent, byte for byte; null: the entry is kept no more. */
  readonly body: string | null;
}

export interface DeadLetter {
  readonly number: number;
  readonly attempts: number;
  readonly status: number | null;
  readonly error: string | null;
  readonly lastAt: Date | null;
}

/** Of the tenant's log, with a higher number than `after` and none above `upTo`, in order. */
export async function eventsAfter(
  manager: EntityManager,
  tenantId: string,
  { after, upTo }: { readonly after: number; readonly upTo: number },
): Promise<EventEntry[]> {
  const moment = after > 0 ? await momentOf(manager, tenantId, after) : undefined;
  const rows = (await manager.query(
    `select number, recorded_at as "recordedAt",
            (select substr(facet, 6) from unnest(facets) facet where facet like 'type=%' limit 1) as type
       from entries
      where tenant_id = $1 and number > $2 and number <= $3 and kind = 'event'
        and ($4::timestamptz is null or recorded_at >= $4::timestamptz)
      order by recorded_at, number`,
    [tenantId, after, upTo, moment?.earliest ?? null],
  )) as { number: string; recordedAt: Date; type: string | null }[];
  return rows.map((row) => ({ ...row, number: Number(row.number), type: row.type ?? '' }));
}

export async function addDeliveries(
  manager: EntityManager,
  subscriberId: string,
  entries: readonly EventEntry[],
): Promise<void> {
  // One that is a dead letter stays that.
  await manager.query(
    `insert into webhook_deliveries (subscriber_id, number, recorded_at)
     select $1, * from unnest($2::bigint[], $3::timestamptz[]) on conflict do nothing`,
    [subscriberId, entries.map(({ number }) => number), entries.map(({ recordedAt }) => recordedAt.toISOString())],
  );
}

export async function countPending(manager: EntityManager, subscriberId: string): Promise<number> {
  return countDeliveries(manager, subscriberId, 'next_at is not null');
}

export async function countDead(manager: EntityManager, subscriberId: string): Promise<number> {
  return countDeliveries(manager, subscriberId, 'next_at is null');
}

async function countDeliveries(manager: EntityManager, subscriberId: string, which: string): Promise<number> {
  const sql = `select count(*)::int as count from webhook_deliveries where subscriber_id = $1 and ${which}`;
  const [row] = (await manager.query(sql, [subscriberId])) as [{ count: number }];
  return row.count;
}

export interface DueFor {
  readonly subscriberId: string;
  readonly tenantId: string;
  readonly lease: string;
}

export interface DueLimits {
  readonly all: number;
  /** Of those that failed before. */
  readonly retries: number;
  /** Claims of those that are under way. */
  readonly besides: readonly string[];
}

type DueRow = Omit<Delivery, 'number' | 'lease' | 'body'> & { readonly number: string; readonly recordedAt: string };

/** Those to be made now, in the order of their numbers. None of a webhook that is disabled, or that this process does not have, or not any more. */
export async function dueDeliveries(
  manager: EntityManager,
  { subscriberId, tenantId, lease }: DueFor,
  { all, retries, besides }: DueLimits,
): Promise<Delivery[]> {
  const due = `select number, claim, attempts, recorded_at::text as "recordedAt" from webhook_deliveries
    where subscriber_id = $1 and next_at <= clock_timestamp() and claim <> all($2::uuid[])
      and exists (select from webhooks w where w.subscriber_id = $1 and w.disabled_at is null
                   and w.lease = $3 and w.leased_until > clock_timestamp())`;
  const rows = await manager.query<DueRow[]>(
    `select * from ((${due} and attempts > 0 order by number limit $5) union all
                    (${due} and attempts = 0 order by number limit $4)) due order by number limit $4`,
    [subscriberId, besides, lease, all, retries],
  );
  const bodies = await bodiesOf(manager, tenantId, rows);
  return rows.map(({ number, claim, attempts }) => ({
    number: Number(number),
    claim,
    lease,
    attempts,
    body: bodies.get(number) ?? null,
  }));
}

/** Each by its moment: of all days that are kept, only those that are named are looked at and locked. */
async function bodiesOf(
  manager: EntityManager,
  tenantId: string,
  rows: readonly Pick<DueRow, 'number' | 'recordedAt'>[],
): Promise<ReadonlyMap<string, string>> {
  if (rows.length === 0) return new Map();
  const each = rows.map((_row, at) => `(number = $${2 * at + 2} and recorded_at = $${2 * at + 3}::timestamptz)`);
  const found = await manager.query<{ number: string; body: string }[]>(
    `select number, body from entries where tenant_id = $1 and (${each.join(' or ')})`,
    [tenantId, ...rows.flatMap(({ number, recordedAt }) => [number, recordedAt])],
  );
  return new Map(found.map(({ number, body }) => [number, body]));
}

/** It was delivered, whoever has the webhook by now. The webhook is locked before its message, as by whoever replays or removes it. */
export async function endDelivery(
  manager: EntityManager,
  subscriberId: string,
  { number, claim }: Pick<Delivery, 'number' | 'claim'>,
  now: Date,
): Promise<void> {
  await manager.query(
    `with held as materialized (select subscriber_id from webhooks where subscriber_id = $1 for no key update),
     made as (
       delete from webhook_deliveries d using held
        where d.subscriber_id = held.subscriber_id and d.number = $2 and d.claim = $3 returning 1)
     update webhooks set delivered_at = $4 where subscriber_id = $1 and exists (select from made)`,
    [subscriberId, number, claim, now],
  );
}

export interface FailedAttempt {
  readonly attempts: number;
  /** Null: there is no further one. */
  readonly waitMs: number | null;
  readonly status: number | null;
  readonly error: string;
  readonly at: Date;
}

/** False: meanwhile it was to be delivered anew, or not at all, or another process has the webhook, whose attempts count. */
export async function putOff(
  manager: EntityManager,
  subscriberId: string,
  { number, claim, lease }: Pick<Delivery, 'number' | 'claim' | 'lease'>,
  { attempts, waitMs, status, error, at }: FailedAttempt,
): Promise<boolean> {
  const [, count] = (await manager.query(
    `update webhook_deliveries d set attempts = $4, next_at = clock_timestamp() + $5::float8 * interval '1 millisecond',
            status = $6, error = $7, last_at = $8
       from webhooks w
      where d.subscriber_id = $1 and d.number = $2 and d.claim = $3 and w.subscriber_id = $1 and w.lease = $9`,
    [subscriberId, number, claim, attempts, waitMs, status, error, at, lease],
  )) as [unknown[], number];
  return count === 1;
}

/** By number, above `after`. */
export async function deadLetters(
  manager: EntityManager,
  subscriberId: string,
  after: number,
  limit: number,
): Promise<DeadLetter[]> {
  const rows = (await manager.query(
    `select number, attempts, status, error, last_at as "lastAt" from webhook_deliveries
      where subscriber_id = $1 and next_at is null and number > $2 order by number limit $3`,
    [subscriberId, after, limit],
  )) as (Omit<DeadLetter, 'number'> & { readonly number: string })[];
  return rows.map((row) => ({ ...row, number: Number(row.number) }));
}

/** Dead letters are to be delivered after all: these, or all. Returns how many. */
export async function reviveDeadLetters(
  manager: EntityManager,
  subscriberId: string,
  numbers: readonly number[] | null,
): Promise<number> {
  const [, count] = (await manager.query(
    `update webhook_deliveries set claim = gen_random_uuid(), attempts = 0, next_at = clock_timestamp()
      where subscriber_id = $1 and next_at is null and ($2::bigint[] is null or number = any($2))`,
    [subscriberId, numbers],
  )) as [unknown[], number];
  return count;
}

/** What is above this number is found again by the cursor. */
export async function dropDeliveriesAfter(manager: EntityManager, subscriberId: string, cursor: number): Promise<void> {
  await manager.query('delete from webhook_deliveries where subscriber_id = $1 and number > $2', [
    subscriberId,
    cursor,
  ]);
}

/** The lowest number that was recorded then or later; null: there is none yet. Of days that are kept. */
export async function firstNumberSince(manager: EntityManager, tenantId: string, at: Date): Promise<number | null> {
  const [row] = (await manager.query(
    'select number from entries where tenant_id = $1 and recorded_at >= $2 order by recorded_at, number limit 1',
    [tenantId, at],
  )) as { number: string }[];
  return row ? Number(row.number) : null;
}

/** The lowest number of which the entry is still kept; null: there is none. */
export async function firstNumberKept(manager: EntityManager, tenantId: string): Promise<number | null> {
  return firstNumberSince(manager, tenantId, new Date(0));
}
