import { MAX_FENCED_GATEWAYS, MAX_REVOKED_GATEWAYS, type FencedGateway, type RevokedGateways } from '@fairlead/pki';
import type { EntityManager } from 'typeorm';
import { RevocationRow } from './entities.js';

/**
 * Gateways know a revocation for this long after it was made and the certificate ended, whichever is later. Links and tunnels outlive
 * the certificate they were opened with, and a replica that was away from NATS is to find it when it is back.
 */
export const KNOWN_FOR_MS = 30 * 86_400_000;

export type StoredRevocation = Readonly<RevocationRow>;

/** False if it was revoked before. */
export async function insertCertificateRevocation(
  manager: EntityManager,
  revocation: Pick<StoredRevocation, 'tenantId' | 'reason' | 'revokedAt'> & { readonly serial: string },
): Promise<boolean> {
  const none = { clusterId: null, throughGeneration: null, clusterDeleted: false };
  const row = { ...revocation, ...none, id: crypto.randomUUID() };
  const { raw } = await manager
    .createQueryBuilder()
    .insert()
    .into(RevocationRow)
    .values(row)
    .orIgnore()
    .returning('id')
    .execute();
  return (raw as unknown[]).length > 0;
}

/** An older request that comes late takes nothing back, and what was deleted stays so. To be called under the cluster's lock. */
export async function raiseGenerationRevocation(
  manager: EntityManager,
  revocation: Pick<StoredRevocation, 'tenantId' | 'reason' | 'revokedAt' | 'clusterDeleted'> & {
    readonly clusterId: string;
    readonly throughGeneration: number;
  },
): Promise<void> {
  const { clusterId, throughGeneration, reason, revokedAt, clusterDeleted } = revocation;
  const before = await manager.findOneBy(RevocationRow, { clusterId });
  if (!before) {
    await manager.insert(RevocationRow, { ...revocation, id: crypto.randomUUID(), serial: null });
    return;
  }
  if (clusterDeleted) await manager.update(RevocationRow, { clusterId }, { clusterDeleted });
  if ((before.throughGeneration ?? 0) >= throughGeneration) return;
  await manager.update(RevocationRow, { clusterId }, { throughGeneration, reason, revokedAt });
}

/** What makes a certificate worth nothing; null if nothing does. */
export async function revocationOf(
  manager: EntityManager,
  certificate: { readonly serial: string; readonly clusterId: string | null; readonly generation: number | null },
): Promise<StoredRevocation | null> {
  const { serial, clusterId, generation } = certificate;
  const own = await manager.findOneBy(RevocationRow, { serial });
  return own ?? (clusterId === null ? null : generationRevocation(manager, clusterId, generation ?? 0));
}

/** What makes every certificate of an enrolment worth nothing; null if nothing does. */
export async function generationRevocation(
  manager: EntityManager,
  clusterId: string,
  generation: number,
): Promise<StoredRevocation | null> {
  const row = await manager.findOneBy(RevocationRow, { clusterId });
  return row && (row.throughGeneration ?? 0) >= generation ? row : null;
}

/** Those of single certificates, by serial, and the one of a cluster's enrolments. */
export async function revocationsOf(
  manager: EntityManager,
  clusterId: string | null,
  serials: readonly string[],
): Promise<{ bySerial: Map<string, StoredRevocation>; ofGenerations: StoredRevocation | null }> {
  const rows =
    serials.length === 0
      ? []
      : await manager.findBy(
          RevocationRow,
          serials.map((serial) => ({ serial })),
        );
  const ofGenerations = clusterId === null ? null : await manager.findOneBy(RevocationRow, { clusterId });
  return { bySerial: new Map(rows.map((row) => [row.serial as string, row])), ofGenerations };
}

/** Single certificates that were revoked, and until when gateways are to know them. */
export async function revokedCertificates(
  manager: EntityManager,
  now: Date,
): Promise<{ serial: string; knownUntil: Date }[]> {
  const rows = (await manager.query(
    `select serial, greatest(revocations.revoked_at, certificates.not_after) as since
     from revocations join certificates using (serial)
     where greatest(revocations.revoked_at, certificates.not_after) > $1`,
    [new Date(now.getTime() - KNOWN_FOR_MS)],
  )) as { serial: string; since: Date }[];
  return rows.map(({ serial, since }) => ({ serial, knownUntil: new Date(since.getTime() + KNOWN_FOR_MS) }));
}

/**
 * Gateways' certificates, in seconds as they are written in them; `older_end` is the last end of those of the same gateway that are not revoked and
 * began no later. One that was to begin only after it was revoked, by a clock that was ahead, is in no fence: the gateway's next ones would be behind it.
 */
const OF_GATEWAYS = `with of_gateways as (
  select serial, not_after, revoked_at, substring(names[1] from '[^/]*$') as name, date_trunc('second', not_before) as began
  from certificates left join revocations using (serial) where purpose = 'gateway'
), revoked as (
  select * from (select *, max(not_after) filter (where revoked_at is null) over (partition by name order by began) as older_end
    from of_gateways) every where revoked_at is not null
), fences as (
  select name, max(began) as through, max(revoked_at) as revoked_at from revoked
  where began <= revoked_at
    and (older_end is null or older_end <= revoked_at - make_interval(secs => ${KNOWN_FOR_MS / 1_000})) group by name
)`;

/**
 * What agents are to know of gateways' certificates: of each gateway the last one up to which all were revoked that something may have stood
 * by then, for good, at most `MAX_FENCED_GATEWAYS`, those revoked last; and the serial numbers of single ones, for as long as gateways know them, at
 * most `MAX_REVOKED_GATEWAYS`: those first that are in no such row, then those that end last.
 */
export async function revokedGateways(manager: EntityManager, now: Date): Promise<RevokedGateways> {
  const fences = (await manager.query(
    `${OF_GATEWAYS} select name, extract(epoch from through)::int8 as through from fences
     order by revoked_at desc, name limit ${MAX_FENCED_GATEWAYS}`,
  )) as { name: string; through: string }[];
  const rows = (await manager.query(
    `${OF_GATEWAYS} select serial from revoked left join fences using (name)
     where greatest(revoked.revoked_at, not_after) > $1
     order by coalesce(began <= through, false), not_after desc, revoked.revoked_at desc, serial limit ${MAX_REVOKED_GATEWAYS}`,
    [new Date(now.getTime() - KNOWN_FOR_MS)],
  )) as { serial: string }[];
  const fencedGateways = fences.map(({ name, through }): FencedGateway => ({ name, through: Number(through) }));
  return { revokedGateways: rows.map(({ serial }) => serial), fencedGateways };
}

/** Clusters that had enrolments revoked: at most one each, for good; of those that were deleted, as long as of a certificate. */
export async function revokedGenerations(
  manager: EntityManager,
  now: Date,
): Promise<{ clusterId: string; throughGeneration: number }[]> {
  const rows = await manager
    .createQueryBuilder(RevocationRow, 'revocation')
    .where('revocation.cluster_id is not null')
    .andWhere(
      `(not revocation.cluster_deleted or revocation.revoked_at > :since
        or exists (select from certificates where certificates.cluster_id = revocation.cluster_id
          and certificates.not_after > :since))`,
      { since: new Date(now.getTime() - KNOWN_FOR_MS) },
    )
    .getMany();
  return rows.map(({ clusterId, throughGeneration }) => ({
    clusterId: clusterId as string,
    throughGeneration: throughGeneration ?? 0,
  }));
}
