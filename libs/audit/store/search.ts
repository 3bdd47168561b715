import type { AuditEntry, AuditFilter } from '@fairlead/contracts';
import type { EntityManager } from 'typeorm';
import { facetsWanted } from '../domain/facets.js';
import type { NumberRange } from '../domain/sequence.js';

/** Clocks of gateways may be ahead of ours: nothing is recorded before it happened by more than this. */
export const MAX_SKEW_MS = 3_600_000;

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

export type Order = 'newest-first' | 'oldest-first';

/** Those with numbers in the range, and no more than `limit` of them. It looks at the range alone, so it takes as long as that is wide, whatever is looked for. */
export async function entriesIn(
  manager: EntityManager,
  { tenantId, filter, limit }: Window,
  { from, to }: NumberRange,
  order: Order,
): Promise<AuditEntry[]> {
  const { conditions, parameters, parameter } = whereOf(tenantId, filter);
  conditions.push(`number >= ${parameter(from)}`, `number <= ${parameter(to)}`);
  const [first, last] = [await momentOf(manager, tenantId, from), await momentOf(manager, tenantId, to)];
  if (first) conditions.push(`recorded_at >= ${parameter(first.earliest)}::timestamptz`);
  if (last) conditions.push(`recorded_at <= ${parameter(last.latest)}::timestamptz`);
  const sql = `select ${COLUMNS} from entries where ${conditions.join(' and ')}
    order by number ${order === 'newest-first' ? 'desc' : 'asc'} limit ${limit}`;
  return (await manager.query<EntryRow[]>(sql, parameters)).map(toEntry);
}

/**
 * Those with numbers up to this one, newest first, by the index of facets: it looks at all that are found, so it takes as long as these are many, and not as the log is long. Postgres
 * does not know how rare a facet is that is in few entries, takes it for one in 200 and would look for it entry by entry from the end of the log: in an order that no index has, it cannot.
 */
export async function entriesByFacets(
  manager: EntityManager,
  { tenantId, filter, limit }: Window,
  upTo: number,
): Promise<AuditEntry[]> {
  const { conditions, parameters, parameter } = whereOf(tenantId, filter);
  conditions.push(`number <= ${parameter(upTo)}`);
  const last = await momentOf(manager, tenantId, upTo);
  if (last) conditions.push(`recorded_at <= ${parameter(last.latest)}::timestamptz`);
  const sql = `select ${COLUMNS} from entries where ${conditions.join(' and ')} order by number + 0 desc limit ${limit}`;
  return (await manager.query<EntryRow[]>(sql, parameters)).map(toEntry);
}

/** The lowest number of what was recorded then or later, or might have happened then by the clock of a gateway. */
export async function firstNumberSince(
  manager: EntityManager,
  tenantId: string,
  from: Date,
): Promise<number | undefined> {
  const rows = (await manager.query(
    'select number from entries where tenant_id = $1 and recorded_at >= $2 order by recorded_at, number limit 1',
    [tenantId, new Date(from.getTime() - MAX_SKEW_MS)],
  )) as { number: string }[];
  return rows[0] && Number(rows[0].number);
}

export async function entryOf(
  manager: EntityManager,
  tenantId: string,
  number: number,
): Promise<AuditEntry | undefined> {
  // Every day that is looked at is a table that is locked: of all that are kept there are hundreds.
  const moment = await momentOf(manager, tenantId, number);
  if (!moment) return undefined;
  const sql = `select ${COLUMNS} from entries where tenant_id = $1 and number = $2
    and recorded_at >= $3::timestamptz and recorded_at <= $4::timestamptz`;
  const [row] = (await manager.query(sql, [tenantId, number, moment.earliest, moment.latest])) as EntryRow[];
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
