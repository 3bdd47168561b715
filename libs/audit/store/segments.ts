import type { EntityManager } from 'typeorm';

/** Entries of one log on days that are over. */
export interface OldSegments {
  readonly tenantId: string;
  readonly first: number;
  readonly last: number;
  /** `2026-03-01` */
  readonly firstDay: string;
  readonly lastDay: string;
}

/** Of days before that of `before`, those of which no log has said yet that the retention takes them. */
export async function segmentsToTake(manager: EntityManager, before: Date): Promise<OldSegments[]> {
  const rows = (await manager.query(
    `select tenant_id as "tenantId", min(first_number) as first, max(last_number) as last,
            min(day)::text as "firstDay", max(day)::text as "lastDay"
       from segments where day < ($1::timestamptz at time zone 'UTC')::date and not taken group by tenant_id order by tenant_id`,
    [before],
  )) as (Omit<OldSegments, 'first' | 'last'> & { readonly first: string; readonly last: string })[];
  return rows.map((row) => ({ ...row, first: Number(row.first), last: Number(row.last) }));
}

/** False: another replica was here before. */
export async function markTaken(
  manager: EntityManager,
  { tenantId, firstDay, lastDay }: OldSegments,
): Promise<boolean> {
  const rows = (await manager.query(
    `with marked as (update segments set taken = true where tenant_id = $1 and day between $2::date and $3::date and not taken returning 1)
     select count(*)::int as count from marked`,
    [tenantId, firstDay, lastDay],
  )) as [{ count: number }];
  return rows[0].count > 0;
}
