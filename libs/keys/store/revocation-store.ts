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

/** Serial numbers of gateways' certificates that were revoked and have not ended: at most `limit`, those that were revoked last. */
export async function revokedGateways(manager: EntityManager, now: Date, limit: number): Promise<string[]> {
  const rows = (await manager.query(
    `select serial from revocations join certificates using (serial)
     where certificates.purpose = 'gateway' and certificates.not_after > $1
     order by revocations.revoked_at desc, serial limit $2`,
    [now, limit],
  )) as { serial: string }[];
  return rows.map(({ serial }) => serial);
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
