import { withAdvisoryLock } from '@fairlead/persistence';
import type { EntityManager } from 'typeorm';

export interface StoredWebhookSecret {
  readonly id: string;
  readonly sealed: Buffer;
}

interface Owner {
  readonly tenantId: string;
  readonly subscriberId: string;
}

/** False: the subscriber has one already. */
export async function addWebhookSecret(
  manager: EntityManager,
  { tenantId, subscriberId }: Owner,
  { id, sealed }: StoredWebhookSecret,
  now: Date,
): Promise<boolean> {
  const rows = (await manager.query(
    `insert into webhook_secrets (id, subscriber_id, tenant_id, sealed_secret, created_at) values ($1, $2, $3, $4, $5)
     on conflict do nothing returning id`,
    [id, subscriberId, tenantId, sealed, now],
  )) as unknown[];
  return rows.length === 1;
}

/** `none`: there is none that signs now. `full`: so many sign beside it already, the first of them until then; nothing has changed. */
export type EndedSecret =
  | { readonly kind: 'ended' }
  | { readonly kind: 'none' }
  | { readonly kind: 'full'; readonly firstEndsAt: Date };

interface End {
  readonly now: Date;
  readonly until: Date;
  /** How many may sign beside the newest one. */
  readonly most: number;
}

/** The one that signs now signs until then, and those before it to their own end. With `until` now, none of them signs any more. */
export async function endWebhookSecret(
  manager: EntityManager,
  { tenantId, subscriberId }: Owner,
  { now, until, most }: End,
): Promise<EndedSecret> {
  const owner = [subscriberId, tenantId];
  const isOwn = 'subscriber_id = $1 and tenant_id = $2';
  // Of two who rotate at the same time, one after the other.
  await withAdvisoryLock(manager, `webhook-secrets:${subscriberId}`);
  const sql = `select signs_until as "signsUntil" from webhook_secrets where ${isOwn} and (signs_until is null or signs_until > $3)
    order by signs_until nulls last`;
  const held = (await manager.query(sql, [...owner, now])) as { signsUntil: Date | null }[];
  if (!held.some(({ signsUntil }) => signsUntil === null)) return { kind: 'none' };
  const isAtOnce = until.getTime() <= now.getTime();
  const firstEndsAt = held[0]?.signsUntil;
  if (!isAtOnce && firstEndsAt && held.length > most) return { kind: 'full', firstEndsAt };
  await manager.query(
    `delete from webhook_secrets where ${isOwn} and signs_until is not null and (signs_until <= $3 or $4)`,
    [...owner, now, isAtOnce],
  );
  await manager.query(`update webhook_secrets set signs_until = $3 where ${isOwn} and signs_until is null`, [
    ...owner,
    until,
  ]);
  return { kind: 'ended' };
}

/** Those that sign at this time, newest first. */
export async function signingSecrets(
  manager: EntityManager,
  { tenantId, subscriberId }: Owner,
  now: Date,
): Promise<StoredWebhookSecret[]> {
  return (await manager.query(
    `select id, sealed_secret as sealed from webhook_secrets
      where subscriber_id = $1 and tenant_id = $2 and (signs_until is null or signs_until > $3)
      order by signs_until is not null, created_at desc, signs_until desc`,
    [subscriberId, tenantId, now],
  )) as StoredWebhookSecret[];
}

export async function deleteWebhookSecrets(manager: EntityManager, { tenantId, subscriberId }: Owner): Promise<void> {
  await manager.query('delete from webhook_secrets where subscriber_id = $1 and tenant_id = $2', [
    subscriberId,
    tenantId,
  ]);
}

/** Returns how many. */
export async function deleteEndedWebhookSecrets(manager: EntityManager, now: Date): Promise<number> {
  const [, count] = (await manager.query('delete from webhook_secrets where signs_until <= $1', [now])) as [
    unknown[],
    number,
  ];
  return count;
}

/** Those that sign until they are replaced, by subscriber. */
export async function listWebhookSecrets(
  manager: EntityManager,
  after: string | null,
  limit: number,
): Promise<(Owner & { readonly createdAt: Date })[]> {
  return (await manager.query(
    `select subscriber_id as "subscriberId", tenant_id as "tenantId", created_at as "createdAt" from webhook_secrets
      where signs_until is null and ($1::uuid is null or subscriber_id > $1) order by subscriber_id limit $2`,
    [after, limit],
  )) as (Owner & { readonly createdAt: Date })[];
}
