import type { NewSubscriber, ReplayFrom, SubscriberKind } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { withAdvisoryLock } from '@fairlead/persistence';
import type { EntityManager } from 'typeorm';

export interface StoredSubscriber {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  readonly kind: SubscriberKind;
  readonly types: readonly string[];
  readonly createdAt: Date;
  /** Where in the stream it begins: at this moment, or with this number if there is one. */
  readonly startsAt: Date;
  readonly startsAtNumber: number | null;
  /** Of the kind `nats` only. */
  readonly natsPublicKey: string | null;
}

const COLUMNS = `id, tenant_id as "tenantId", name, kind, types, created_at as "createdAt", starts_at as "startsAt",
  starts_at_number::float8 as "startsAtNumber", nats_public_key as "natsPublicKey"`;

/** How many the tenant has; nobody adds one until the transaction ends. */
export async function holdSubscribers(manager: EntityManager, tenantId: string): Promise<number> {
  await withAdvisoryLock(manager, `subscribers ${tenantId}`);
  const [row] = await rows<{ count: number }>(manager, `select count(*)::int from subscribers where tenant_id = $1`, [
    tenantId,
  ]);
  return row?.count ?? 0;
}

/** ALREADY_EXISTS: the tenant has one of that name, or somebody has one of that key. */
export async function addSubscriber(
  manager: EntityManager,
  tenantId: string,
  { name, kind, types, publicKey }: NewSubscriber,
  createdAt: Date,
): Promise<StoredSubscriber> {
  const [added] = await rows<StoredSubscriber>(
    manager,
    `insert into subscribers (id, tenant_id, name, kind, types, created_at, starts_at, nats_public_key)
     values ($1, $2, $3, $4, $5, $6, $6, $7) on conflict do nothing returning ${COLUMNS}`,
    [crypto.randomUUID(), tenantId, name, kind, types, createdAt, publicKey ?? null],
  );
  if (!added) throw new FairleadError('ALREADY_EXISTS', `there is a subscriber ${name}, or one with this key, already`);
  return added;
}

/** By name, beginning after `after`. */
export function listSubscribers(
  manager: EntityManager,
  tenantId: string,
  after: string,
  limit: number,
): Promise<StoredSubscriber[]> {
  const sql = `select ${COLUMNS} from subscribers where tenant_id = $1 and name > $2 order by name limit $3`;
  return rows(manager, sql, [tenantId, after, limit]);
}

/** NOT_FOUND. */
export async function findSubscriber(
  manager: EntityManager,
  tenantId: string,
  name: string,
  how: 'read' | 'lock' = 'read',
): Promise<StoredSubscriber> {
  const lock = how === 'lock' ? ' for update' : '';
  const sql = `select ${COLUMNS} from subscribers where tenant_id = $1 and name = $2${lock}`;
  const [row] = await rows<StoredSubscriber>(manager, sql, [tenantId, name]);
  if (!row) throw new FairleadError('NOT_FOUND', `there is no subscriber named ${name}`);
  return row;
}

export async function deleteSubscriber(manager: EntityManager, id: string): Promise<void> {
  await manager.query('delete from subscribers where id = $1', [id]);
}

/** ALREADY_EXISTS: somebody has this key. */
export async function changeNatsKey(manager: EntityManager, id: string, publicKey: string): Promise<StoredSubscriber> {
  const [taken] = await rows<unknown>(manager, 'select 1 from subscribers where nats_public_key = $1', [publicKey]);
  if (taken) throw new FairleadError('ALREADY_EXISTS', 'there is a subscriber with this key already; make a new one');
  return changed(manager, 'nats_public_key = $2', [id, publicKey]);
}

export function changeStart(manager: EntityManager, id: string, from: ReplayFrom): Promise<StoredSubscriber> {
  return 'time' in from
    ? changed(manager, 'starts_at = $2, starts_at_number = null', [id, from.time])
    : changed(manager, 'starts_at_number = $2', [id, from.number]);
}

/** Of all tenants: what NATS has to know. */
export function natsSubscribers(manager: EntityManager): Promise<StoredSubscriber[]> {
  return rows(manager, `select ${COLUMNS} from subscribers where nats_public_key is not null order by id`, []);
}

/** One of that id, of whatever tenant; null: it is gone. */
export async function subscriberById(manager: EntityManager, id: string): Promise<StoredSubscriber | null> {
  const [row] = await rows<StoredSubscriber>(manager, `select ${COLUMNS} from subscribers where id = $1`, [id]);
  return row ?? null;
}

async function changed(manager: EntityManager, set: string, parameters: unknown[]): Promise<StoredSubscriber> {
  // TypeORM answers an update with its rows and how many they are.
  const sql = `with changed as (update subscribers set ${set} where id = $1 returning *) select ${COLUMNS} from changed`;
  const [row] = await rows<StoredSubscriber>(manager, sql, parameters);
  if (!row) throw new FairleadError('NOT_FOUND', 'the subscriber is gone');
  return row;
}

async function rows<Row>(manager: EntityManager, sql: string, parameters: unknown[]): Promise<Row[]> {
  return (await manager.query(sql, parameters)) as Row[];
}
