import { MoreThan, type EntityManager } from 'typeorm';
import { CertificateRow, RevocationRow } from './entities.js';

/** A gateway's clock may be behind ours by this much. */
const CLOCKS_APART_MS = 3_600_000;

export type StoredRevocation = Readonly<RevocationRow>;

/** False if it was revoked before. */
export async function insertCertificateRevocation(
  manager: EntityManager,
  revocation: Pick<StoredRevocation, 'tenantId' | 'reason' | 'revokedAt'> & { readonly serial: string },
): Promise<boolean> {
  const row = { ...revocation, id: crypto.randomUUID(), clusterId: null, throughGeneration: null };
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

/** An older request that comes late takes nothing back. To be called under the cluster's lock. */
export async function raiseGenerationRevocation(
  manager: EntityManager,
  revocation: Pick<StoredRevocation, 'tenantId' | 'reason' | 'revokedAt'> & {
    readonly clusterId: string;
    readonly throughGeneration: number;
  },
): Promise<void> {
  const { clusterId, throughGeneration, reason, revokedAt } = revocation;
  const before = await manager.findOneBy(RevocationRow, { clusterId });
  if (!before) {
    await manager.insert(RevocationRow, { ...revocation, id: crypto.randomUUID(), serial: null });
    return;
  }
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

/** Of a cluster: those of single certificates, by serial, and the one of its enrolments. */
export async function revocationsOfCluster(
  manager: EntityManager,
  clusterId: string,
  serials: readonly string[],
): Promise<{ bySerial: Map<string, StoredRevocation>; ofGenerations: StoredRevocation | null }> {
  const rows =
    serials.length === 0
      ? []
      : await manager.findBy(
          RevocationRow,
          serials.map((serial) => ({ serial })),
        );
  const ofGenerations = await manager.findOneBy(RevocationRow, { clusterId });
  return { bySerial: new Map(rows.map((row) => [row.serial as string, row])), ofGenerations };
}

/** Single certificates that were revoked and have not expired. */
export async function revokedCertificates(
  manager: EntityManager,
  now: Date,
): Promise<{ serial: string; notAfter: Date }[]> {
  return manager
    .createQueryBuilder(CertificateRow, 'certificate')
    .innerJoin(RevocationRow, 'revocation', 'revocation.serial = certificate.serial')
    .where({ notAfter: MoreThan(now) })
    .select(['certificate.serial', 'certificate.notAfter'])
    .getMany();
}

/** Clusters that had enrolments revoked, as long as a certificate of one of these could still be shown somewhere. */
export async function revokedGenerations(
  manager: EntityManager,
  now: Date,
): Promise<{ clusterId: string; throughGeneration: number }[]> {
  const rows = await manager
    .createQueryBuilder(RevocationRow, 'revocation')
    .where('revocation.cluster_id is not null')
    .andWhere(
      `exists (select from certificates where certificates.cluster_id = revocation.cluster_id
        and certificates.generation <= revocation.through_generation and certificates.not_after > :ended)`,
      { ended: new Date(now.getTime() - CLOCKS_APART_MS) },
    )
    .getMany();
  return rows.map(({ clusterId, throughGeneration }) => ({
    clusterId: clusterId as string,
    throughGeneration: throughGeneration ?? 0,
  }));
}
