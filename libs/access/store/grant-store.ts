import type { Grant } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { Any, Brackets, IsNull, LessThanOrEqual, type EntityManager } from 'typeorm';
import { keyOf } from '../domain/grant.js';
import { GrantRow } from './grant-entities.js';
import { scopeColumns, scopeOf } from './scope-columns.js';

export async function insertGrant(manager: EntityManager, grant: Grant): Promise<void> {
  const { subject, clusters, notBefore, expiresAt, createdAt, impersonate, targets, ...rest } = grant;
  await manager.insert(GrantRow, {
    ...rest,
    ...scopeColumns(clusters),
    subjectKind: subject.kind,
    subjectName: subject.name,
    bucketKey: keyOf(grant),
    impersonate: impersonate ?? null,
    targets: targets ?? null,
    notBefore: notBefore === null ? null : new Date(notBefore),
    expiresAt: expiresAt === null ? null : new Date(expiresAt),
    createdAt: new Date(createdAt),
    endedAt: null,
    endedBy: null,
  });
}

/** Those of the subjects with these keys in the bucket, in force or not, but not ended. */
export async function grantsOfKeys(manager: EntityManager, keys: readonly string[]): Promise<Grant[]> {
  const where = { bucketKey: Any([...keys]), endedAt: IsNull() };
  return (await manager.find(GrantRow, { where })).map(shown);
}

/** The next keys of subjects that have grants, in the order of their bytes. */
export async function subjectKeysAfter(manager: EntityManager, after: string, limit: number): Promise<string[]> {
  const sql =
    'select distinct bucket_key as key from grants where ended_at is null and bucket_key > $1 order by bucket_key limit $2';
  const rows: readonly { key: string }[] = await manager.query(sql, [after, limit]);
  return rows.map(({ key }) => key);
}

/** Reads a grant and keeps it from changing until the transaction ends. NOT_FOUND, also if it has ended. */
export async function lockGrant(manager: EntityManager, tenantId: string, id: string): Promise<Grant> {
  const where = { id, tenantId, endedAt: IsNull() };
  const row = await manager.findOne(GrantRow, { where, lock: { mode: 'pessimistic_write' } });
  if (!row) throw noGrant(id);
  return shown(row);
}

/** NOT_FOUND, also if it has ended. */
export async function findGrant(manager: EntityManager, tenantId: string, id: string): Promise<Grant> {
  const row = await manager.findOneBy(GrantRow, { id, tenantId, endedAt: IsNull() });
  if (!row) throw noGrant(id);
  return shown(row);
}

/** Null for who: its time was over. */
export async function endGrants(
  manager: EntityManager,
  ids: readonly string[],
  at: Date,
  by: string | null,
): Promise<void> {
  await manager.update(GrantRow, { id: Any([...ids]) }, { endedAt: at, endedBy: by });
}

/** Those whose time is over, kept from changing until the transaction ends; without those that another instance ends at this moment. */
export async function takeLapsedGrants(manager: EntityManager, now: Date, limit: number): Promise<Grant[]> {
  const rows = await manager.find(GrantRow, {
    where: { expiresAt: LessThanOrEqual(now), endedAt: IsNull() },
    order: { expiresAt: 'ASC' },
    take: limit,
    lock: { mode: 'pessimistic_write', onLocked: 'skip_locked' },
  });
  return rows.map(shown);
}

/** Deletes at most so many that ended before this time, and tells how many. */
export async function dropEndedGrants(manager: EntityManager, before: Date, limit: number): Promise<number> {
  const old = manager.createQueryBuilder().subQuery().select('g.id').from(GrantRow, 'g').where('g.ended_at < :before');
  const query = manager
    .createQueryBuilder()
    .delete()
    .from(GrantRow)
    .where(`id in ${old.limit(limit).getQuery()}`, { before });
  return (await query.execute()).affected ?? 0;
}

/** Selectors of grants of the tenant, each once. */
export async function clusterSelectors(manager: EntityManager, tenantId: string): Promise<string[]> {
  const sql =
    'select distinct cluster_selector as selector from grants where tenant_id = $1 and ended_at is null and cluster_selector is not null';
  const rows: readonly { selector: string }[] = await manager.query(sql, [tenantId]);
  return rows.map(({ selector }) => selector);
}

/** In force or not, but not ended. */
export function countGrants(manager: EntityManager, tenantId: string): Promise<number> {
  return manager.countBy(GrantRow, { tenantId, endedAt: IsNull() });
}

export interface GrantFilter {
  /** Of their subjects in the bucket. */
  readonly bucketKeys?: readonly string[] | undefined;
  /** Whose name or whose labels these grants mean. */
  readonly cluster?: { readonly name: string; readonly selectors: readonly string[] } | undefined;
}

/** By id, beginning after `after`; in force or not, but not ended. */
export async function listGrants(
  manager: EntityManager,
  tenantId: string,
  { after, bucketKeys, cluster }: GrantFilter & { readonly after?: string | undefined },
  limit: number,
): Promise<Grant[]> {
  const query = manager
    .createQueryBuilder(GrantRow, 'g')
    .where('g.tenant_id = :tenantId and g.ended_at is null', { tenantId });
  if (after !== undefined) query.andWhere('g.id > :after', { after });
  if (bucketKeys !== undefined) query.andWhere('g.bucket_key = any(:bucketKeys)', { bucketKeys: [...bucketKeys] });
  if (cluster) query.andWhere(meaning(cluster));
  return (await query.orderBy('g.id').take(limit).getMany()).map(shown);
}

function meaning({ name, selectors }: NonNullable<GrantFilter['cluster']>): Brackets {
  return new Brackets((query) => {
    query
      .where('g.cluster_names @> array[:name]::text[]', { name })
      .orWhere('g.cluster_selector = any(:selectors)', { selectors: [...selectors] })
      .orWhere('(g.cluster_names is null and g.cluster_selector is null)');
  });
}

function noGrant(id: string): FairleadError {
  return new FairleadError('NOT_FOUND', `there is no grant ${id}`);
}

function shown(row: GrantRow): Grant {
  const { id, tenantId, effect, role, groups, narrowing, impersonate, reason, createdBy, requestId } = row;
  return {
    id,
    tenantId,
    subject: { kind: row.subjectKind, name: row.subjectName },
    effect,
    clusters: scopeOf(row),
    role,
    groups,
    narrowing,
    ...(impersonate ? { impersonate } : {}),
    ...(row.targets ? { targets: row.targets } : {}),
    notBefore: row.notBefore?.toISOString() ?? null,
    expiresAt: row.expiresAt?.toISOString() ?? null,
    reason,
    createdBy,
    createdAt: row.createdAt.toISOString(),
    requestId,
  };
}
