import { withAdvisoryLock } from '@fairlead/persistence';
import type { EntityManager } from 'typeorm';
import { CertificateRow } from './entities.js';

export type { CertificatePurpose } from './entities.js';
export type RecordedCertificate = Readonly<CertificateRow>;

/** One at a time decides about a cluster's certificates, until the transaction ends. */
export function lockCluster(manager: EntityManager, clusterId: string): Promise<void> {
  return withAdvisoryLock(manager, `cluster:${clusterId}`);
}

export async function recordCertificate(manager: EntityManager, certificate: RecordedCertificate): Promise<void> {
  await manager.insert(CertificateRow, certificate);
}

/** The highest generation that a cluster has a certificate of; null if it never had one. */
export async function newestGeneration(manager: EntityManager, clusterId: string): Promise<number | null> {
  const newest = await manager.findOne(CertificateRow, { where: { clusterId }, order: { generation: 'DESC' } });
  return newest?.generation ?? null;
}

export function findCertificate(manager: EntityManager, serial: string): Promise<RecordedCertificate | null> {
  return manager.findOneBy(CertificateRow, { serial });
}

/** Was this key certified for the cluster before? */
export function keyWasUsed(manager: EntityManager, clusterId: string, spkiSha256: string): Promise<boolean> {
  return manager.existsBy(CertificateRow, { clusterId, spkiSha256 });
}

/** Does a certificate of the cluster have this key that was revoked, by itself or with its enrolment? */
export async function keyWasRevoked(manager: EntityManager, clusterId: string, spkiSha256: string): Promise<boolean> {
  const rows = (await manager.query(
    `select from certificates join revocations on revocations.serial = certificates.serial
       or (revocations.cluster_id = certificates.cluster_id and revocations.through_generation >= certificates.generation)
     where certificates.cluster_id = $1 and certificates.spki_sha256 = $2 limit 1`,
    [clusterId, spkiSha256],
  )) as unknown[];
  return rows.length > 0;
}

/** Of one cluster, newest first. */
export function certificatesOfCluster(
  manager: EntityManager,
  tenantId: string,
  clusterId: string,
  limit: number,
): Promise<RecordedCertificate[]> {
  return manager.find(CertificateRow, { where: { tenantId, clusterId }, order: { notBefore: 'DESC' }, take: limit });
}
