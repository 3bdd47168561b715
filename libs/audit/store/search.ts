import type { AuditEntry, AuditFilter } from '@fairlead/contracts';
import type { EntityManager } from 'typeorm';
import { facetsWanted } from '../domain/facets.js';

/** Clocks of gateways may be ahead of ours: nothing is recorded before it happened by more than this. */
const MAX_SKEW_MS = 3_600_000;

interface EntryRow {
  readonly number: string;
  readonly at: Date;
  readonly recorded_at: Date;
  readonly kind: AuditEntry['kind'];
  readonly source: string;
  readonly user_name: string;
  readonly cluster: string;
  readonly action: string;
  readonly decision: AuditEntry['decision'];
  readonly body: string | null;
}

const COLUMNS = 'number, at, recorded_at, kind, source, user_name, cluster, action, decision, body';

export interface Window {
  readonly tenantId: string;
  readonly filter: AuditFilter;
  readonly limit: number;
}

/** With a lower number than `before`, newest first. */
export async function entriesBefore(
  manager: EntityManager,
  { tenantId, filter, limit }: Window,
  before: number | undefined,
): Promise<AuditEntry[]> {
  const { conditions, parameters, parameter } = whereOf(tenantId, filter);
  if (before !== undefined) {
    conditions.push(`number < ${parameter(before)}`);
    const moment = await momentOf(manager, tenantId, before);
    if (moment) conditions.push(`recorded_at <= ${parameter(moment.latest)}::timestamptz`);
  }
  const sql = `select ${COLUMNS} from entries where ${conditions.join(' and ')}
    order by recorded_at desc, number desc limit ${limit}`;
  return (await manager.query<EntryRow[]>(sql, parameters)).map(toEntry);
}

/** With a higher number than `after` and none above `upTo`, oldest first. */
export async function entriesAfter(
  manager: EntityManager,
  { tenantId, filter, limit }: Window,
  { after, upTo }: { readonly after: number; readonly upTo: number },
): Promise<AuditEntry[]> {
  const { conditions, parameters, parameter } = whereOf(tenantId, filter);
  conditions.push(`number > ${parameter(after)}`, `number <= ${parameter(upTo)}`);
  conditions.push(...(await sinceNumber(manager, tenantId, after, parameter)));
  // Both are the same order. By time the first entry of a moment is found at once; by number what is behind another one, and nothing is sorted, whatever is known of the table.
  const order = filter.from !== undefined && after === 0 ? 'recorded_at, number' : 'number';
  const sql = `select ${COLUMNS} from entries where ${conditions.join(' and ')}
    order by ${order} limit ${limit}`;
  return (await manager.query<EntryRow[]>(sql, parameters)).map(toEntry);
}

export async function entryOf(
  manager: EntityManager,
  tenantId: string,
  number: number,
): Promise<AuditEntry | undefined> {
  const sql = `select ${COLUMNS} from entries where tenant_id = $1 and number = $2`;
  const [row] = (await manager.query(sql, [tenantId, number])) as EntryRow[];
  return row && toEntry(row);
}

/** The newest number; 0: there is none. */
export async function sizeOf(manager: EntityManager, tenantId: string): Promise<number> {
  const rows = (await manager.query('select size from tenant_logs where tenant_id = $1', [tenantId])) as {
    size: string;
  }[];
  return Number(rows[0]?.size ?? 0);
}

function whereOf(tenantId: string, filter: AuditFilter) {
  const parameters: unknown[] = [];
  const parameter = (value: unknown): string => `$${parameters.push(value)}`;
  const conditions = [`tenant_id = ${parameter(tenantId)}`];
  if (filter.from !== undefined) {
    const from = new Date(filter.from);
    conditions.push(`at >= ${parameter(from)}`);
    // Days that were over before are not looked at.
    conditions.push(`recorded_at >= ${parameter(new Date(from.getTime() - MAX_SKEW_MS))}`);
  }
  if (filter.to !== undefined) conditions.push(`at < ${parameter(new Date(filter.to))}`);
  const { all, anyOf } = facetsWanted(filter);
  if (all.length > 0) conditions.push(`facets @> ${parameter(all)}::text[]`);
  for (const choice of anyOf) conditions.push(`facets && ${parameter(choice)}::text[]`);
  return { conditions, parameters, parameter };
}

/** Numbers above this one were recorded no earlier: a condition on `entries`, so that days that are over before are not looked at. */
export async function sinceNumber(
  manager: EntityManager,
  tenantId: string,
  after: number,
  parameter: (value: unknown) => string,
): Promise<string[]> {
  const moment = after > 0 ? await momentOf(manager, tenantId, after) : undefined;
  return moment ? [`recorded_at >= ${parameter(moment.earliest)}::timestamptz`] : [];
}

export interface Moment {
  readonly earliest: string;
  readonly latest: string;
}

/**
 * When an entry of this number was recorded, so that nothing on the far side of it is looked at: times never go down from one number to the next. Where it is not kept
 * any more, the day. To the microsecond, which a Date does not hold.
 */
export async function momentOf(manager: EntityManager, tenantId: string, number: number): Promise<Moment | undefined> {
  const [day] = (await manager.query(
    `select (day::timestamp at time zone 'UTC')::text as earliest, ((day + 1)::timestamp at time zone 'UTC')::text as latest
       from segments where tenant_id = $1 and first_number <= $2 order by day desc limit 1`,
    [tenantId, number],
  )) as Moment[];
  if (!day) return undefined;
  const [entry] = (await manager.query(
    `select recorded_at::text as at from entries
      where tenant_id = $1 and number = $2 and recorded_at >= $3::timestamptz and recorded_at < $4::timestamptz`,
    [tenantId, number, day.earliest, day.latest],
  )) as { at: string }[];
  return entry ? { earliest: entry.at, latest: entry.at } : day;
}

function toEntry(row: EntryRow): AuditEntry {
  return {
    number: Number(row.number),
    at: row.at.toISOString(),
    recordedAt: row.recorded_at.toISOString(),
    kind: row.kind,
    source: row.source,
    user: row.user_name,
    cluster: row.cluster,
    action: row.action,
    decision: row.decision,
    body: row.body === null ? null : (JSON.parse(row.body) as Record<string, unknown>),
  };
}
