import type { EntityManager } from 'typeorm';

/** A webhook that this process delivers to. */
export interface LeasedWebhook {
  readonly subscriberId: string;
  readonly tenantId: string;
  readonly name: string;
  readonly url: string;
  readonly types: readonly string[];
  /** Entries that were not looked at yet, and messages that were not delivered yet. */
  readonly lag: number;
  /** When the oldest message that was not delivered was recorded; null: there is none. */
  readonly oldestAt: Date | null;
  /** There is something to do now. */
  readonly due: boolean;
}

/** How a webhook does, for whoever looks after it. */
export interface WebhookState {
  readonly subscriberId: string;
  readonly url: string;
  readonly cursor: number;
  readonly size: number;
  readonly pending: number;
  readonly dead: number;
  readonly deliveredAt: Date | null;
  readonly disabledAt: Date | null;
  readonly disabledFor: string | null;
  readonly lastError: string | null;
  readonly lastErrorAt: Date | null;
}

/** It is told of what comes from now on. */
export async function addWebhook(
  manager: EntityManager,
  { id, tenantId }: { readonly id: string; readonly tenantId: string },
  url: string,
): Promise<void> {
  await manager.query(
    `insert into webhooks (subscriber_id, tenant_id, url, cursor)
     values ($1, $2, $3, coalesce((select size from tenant_logs where tenant_id = $2), 0))`,
    [id, tenantId, url],
  );
}

/** Whoever delivers, and whoever moves the cursor, holds it until the transaction ends. Null: it is gone, disabled, or another process's. `lease` undefined: whoever's it is. */
export async function lockWebhook(
  manager: EntityManager,
  subscriberId: string,
  lease?: string,
): Promise<{ readonly cursor: number; readonly size: number } | null> {
  const [row] = (await manager.query(
    `select cursor, coalesce(size, 0) as size
       from webhooks left join tenant_logs using (tenant_id)
      where subscriber_id = $1 and ($2::uuid is null or (lease = $2 and leased_until > clock_timestamp() and disabled_at is null))
        for update of webhooks`,
    [subscriberId, lease ?? null],
  )) as { cursor: string; size: string }[];
  return row ? { cursor: Number(row.cursor), size: Number(row.size) } : null;
}

export async function moveCursor(manager: EntityManager, subscriberId: string, cursor: number): Promise<void> {
  await manager.query('update webhooks set cursor = $2 where subscriber_id = $1', [subscriberId, cursor]);
}

export interface LeaseTerms {
  readonly lease: string;
  readonly leaseMs: number;
  /** What ends sooner than this is renewed. */
  readonly renewMs: number;
  readonly most: number;
}

/** Takes webhooks that no process has, and keeps those that this one has. What a process had that is gone is free when its lease ends. */
export async function leaseWebhooks(
  manager: EntityManager,
  { lease, leaseMs, renewMs, most }: LeaseTerms,
): Promise<void> {
  await manager.query(
    `update webhooks set lease = $1, leased_until = clock_timestamp() + $2 * interval '1 millisecond'
      where subscriber_id in (
        select subscriber_id from webhooks
         where disabled_at is null and (
           (lease = $1 and leased_until < clock_timestamp() + $3 * interval '1 millisecond')
           or ((leased_until is null or leased_until <= clock_timestamp())
               and (select count(*) from webhooks where lease = $1) < $4))
         order by subscriber_id limit $4 for update skip locked)`,
    [lease, leaseMs, renewMs, most],
  );
}

export async function releaseWebhooks(manager: EntityManager, lease: string): Promise<void> {
  await manager.query('update webhooks set lease = null, leased_until = null where lease = $1', [lease]);
}

export async function leasedWebhooks(manager: EntityManager, lease: string): Promise<LeasedWebhook[]> {
  return (await manager.query(
    `select w.subscriber_id as "subscriberId", w.tenant_id as "tenantId", s.name, w.url, s.types,
            (coalesce(l.size, 0) - w.cursor + d.pending)::float8 as lag, d.oldest as "oldestAt",
            (coalesce(l.size, 0) > w.cursor or coalesce(d.next_at <= clock_timestamp(), false)) as due
       from webhooks w join subscribers s on s.id = w.subscriber_id
            left join tenant_logs l on l.tenant_id = w.tenant_id
            cross join lateral (
              select count(*) as pending, min(recorded_at) as oldest, min(next_at) as next_at from webhook_deliveries
               where subscriber_id = w.subscriber_id and next_at is not null) d
      where w.lease = $1 and w.disabled_at is null and w.leased_until > clock_timestamp()`,
    [lease],
  )) as LeasedWebhook[];
}

/** Nothing is delivered from then on, and nothing is forgotten. False: it was disabled before. */
export async function disableWebhook(
  manager: EntityManager,
  subscriberId: string,
  why: string,
  now: Date,
): Promise<boolean> {
  const [, count] = (await manager.query(
    `update webhooks set disabled_at = $3, disabled_for = $2, lease = null, leased_until = null
      where subscriber_id = $1 and disabled_at is null`,
    [subscriberId, why, now],
  )) as [unknown[], number];
  return count === 1;
}

/** What waits is tried at once. False: it was not disabled. */
export async function enableWebhook(manager: EntityManager, subscriberId: string): Promise<boolean> {
  const [, count] = (await manager.query(
    'update webhooks set disabled_at = null, disabled_for = null where subscriber_id = $1 and disabled_at is not null',
    [subscriberId],
  )) as [unknown[], number];
  await manager.query(
    'update webhook_deliveries set next_at = now() where subscriber_id = $1 and next_at is not null',
    [subscriberId],
  );
  return count === 1;
}

export async function webhookStates(
  manager: EntityManager,
  ids: readonly string[],
): Promise<Map<string, WebhookState>> {
  if (ids.length === 0) return new Map();
  const rows = (await manager.query(
    `select w.subscriber_id as "subscriberId", w.url, w.cursor::float8 as cursor, coalesce(l.size, 0)::float8 as size,
            w.delivered_at as "deliveredAt", w.disabled_at as "disabledAt", w.disabled_for as "disabledFor",
            d.pending::int as pending, d.dead::int as dead, e.error as "lastError", e.last_at as "lastErrorAt"
       from webhooks w left join tenant_logs l on l.tenant_id = w.tenant_id
            cross join lateral (
              select count(*) filter (where next_at is not null) as pending, count(*) filter (where next_at is null) as dead
                from webhook_deliveries where subscriber_id = w.subscriber_id) d
            left join lateral (
              select error, last_at from webhook_deliveries
               where subscriber_id = w.subscriber_id and error is not null order by last_at desc limit 1) e on true
      where w.subscriber_id = any($1)`,
    [ids],
  )) as WebhookState[];
  return new Map(rows.map((row) => [row.subscriberId, row]));
}

/** Of these, those that there are. */
export async function webhooksAmong(manager: EntityManager, ids: readonly string[]): Promise<Set<string>> {
  const rows = (await manager.query('select subscriber_id as id from webhooks where subscriber_id = any($1)', [
    ids,
  ])) as {
    id: string;
  }[];
  return new Set(rows.map(({ id }) => id));
}
