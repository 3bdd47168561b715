import type { EntityManager } from 'typeorm';
import type { CertificatePurpose } from './entities.js';

export type RotationStep = 'prepared' | 'activated';

interface WaitedRow {
  readonly tenantId: string;
  readonly clusterId: string;
  readonly heldVersion: number;
  readonly notAfter: Date;
}

interface Waited {
  readonly clusters: number;
  readonly clustersDone: number;
  /** The first of those that are not done. */
  readonly waitingFor: readonly WaitedRow[];
}

const LISTED = 100;

/**
 * Clusters whose agent can still come back by itself: the newest certificate of the newest enrolment is not revoked, not of a root that
 * has gone, and could be renewed. `$1`: certificates that ended before it could not. `$2`: the version to be held; null: it is the
 * certificate that counts. Millions of certificates cost a few index look-ups per cluster: it steps from one cluster to the next.
 */
const WAITED = `with recursive clusters as (
  (select cluster_id from certificates where cluster_id is not null order by cluster_id limit 1)
  union all
  select (select next.cluster_id from certificates next where next.cluster_id > clusters.cluster_id
    order by next.cluster_id limit 1)
  from clusters where clusters.cluster_id is not null
), agents as (
  select certificate.tenant_id as "tenantId", certificate.cluster_id as "clusterId",
    coalesce(acknowledgement.version, 0) as "heldVersion", certificate.not_after as "notAfter",
    case when $2::int is null then root.state = 'active' else coalesce(acknowledgement.version, 0) >= $2 end as done
  from clusters
  cross join lateral (
    select generation from certificates one where one.cluster_id = clusters.cluster_id order by generation desc limit 1
  ) newest
  cross join lateral (
    select * from certificates one
    where one.cluster_id = clusters.cluster_id and one.generation = newest.generation
      and not exists (select from revocations where revocations.serial = one.serial)
    order by one.not_before desc, one.created_at desc limit 1
  ) certificate
  join authorities issuing on issuing.id = certificate.authority_id
  join authorities root on root.id = issuing.root_id
  left join trust_acknowledgements acknowledgement on acknowledgement.cluster_id = clusters.cluster_id
  where certificate.not_after > $1 and root.state <> 'retired' and not exists (
    select from revocations
    where revocations.cluster_id = clusters.cluster_id and revocations.through_generation >= newest.generation
  )
)
select (select count(*)::int from agents) as clusters,
  (select count(*)::int from agents where done) as "clustersDone",
  (select coalesce(json_agg(first), '[]') from (
    select "tenantId", "clusterId", "heldVersion", "notAfter" from agents where not done
    order by "tenantId", "clusterId" limit ${LISTED}
  ) first) as "waitingFor"`;

/** Who would be cut off by the next step. `heldVersion`: what agents are to hold, in the first step. */
export async function waitedClusters(
  manager: EntityManager,
  step: RotationStep,
  { heldVersion, endedBefore }: { readonly heldVersion: number; readonly endedBefore: Date },
): Promise<Waited> {
  const [row] = (await manager.query(WAITED, [endedBefore, step === 'prepared' ? heldVersion : null])) as {
    clusters: number;
    clustersDone: number;
    waitingFor: (Omit<WaitedRow, 'notAfter'> & { notAfter: string })[];
  }[];
  if (!row) return { clusters: 0, clustersDone: 0, waitingFor: [] };
  return { ...row, waitingFor: row.waitingFor.map((one) => ({ ...one, notAfter: new Date(one.notAfter) })) };
}

/** Certificates of clients and gateways by the root that goes, which have neither ended nor been revoked. */
export function otherCertificates(manager: EntityManager, now: Date): Promise<CertificateCount> {
  return certificatesOfOldRoot(manager, ['client', 'gateway'], now);
}

/** Those that servers may still show to people's tools. */
export function servingCertificatesOfOldRoot(manager: EntityManager, now: Date): Promise<CertificateCount> {
  return certificatesOfOldRoot(manager, ['serving'], now);
}

interface CertificateCount {
  readonly count: number;
  /** When the last one ends; null without any. */
  readonly until: Date | null;
}

/** Below a retiring root, neither ended nor revoked. */
async function certificatesOfOldRoot(
  manager: EntityManager,
  purposes: readonly CertificatePurpose[],
  now: Date,
): Promise<CertificateCount> {
  const rows = (await manager.query(
    `select count(*)::int as count, max(certificate.not_after) as until
     from certificates certificate
     join authorities issuing on issuing.id = certificate.authority_id
     join authorities root on root.id = issuing.root_id and root.state = 'retiring'
     where certificate.purpose = any ($2) and certificate.not_after > $1
       and not exists (select from revocations where revocations.serial = certificate.serial)`,
    [now, purposes],
  )) as CertificateCount[];
  return rows[0] ?? { count: 0, until: null };
}

/**
 * Keeps the highest version per cluster. A version that was never made counts as the newest, and a cluster without certificates
 * is nobody's.
 */
export async function raiseAcknowledgements(
  manager: EntityManager,
  held: readonly { readonly clusterId: string; readonly version: number }[],
): Promise<void> {
  await manager.query(
    `insert into trust_acknowledgements as known (cluster_id, version)
     select told.cluster_id, least(max(told.version), (select coalesce(max(version), 0) from trust_bundles))::int
     from unnest($1::uuid[], $2::bigint[]) as told (cluster_id, version)
     where exists (select from certificates where certificates.cluster_id = told.cluster_id)
     group by told.cluster_id order by told.cluster_id
     on conflict (cluster_id) do update set version = excluded.version where known.version < excluded.version`,
    [held.map(({ clusterId }) => clusterId), held.map(({ version }) => version)],
  );
}
