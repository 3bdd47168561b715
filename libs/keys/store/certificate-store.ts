import { tryAdvisoryLock, withAdvisoryLock } from '@fairlead/persistence';
import type { EntityManager } from 'typeorm';
import { CertificateRow } from './entities.js';

export type { CertificatePurpose } from './entities.js';
export type RecordedCertificate = Readonly<CertificateRow>;

/** One at a time decides about a cluster's certificates, until the transaction ends. */
export function lockCluster(manager: EntityManager, clusterId: string): Promise<void> {
  return withAdvisoryLock(manager, `cluster:${clusterId}`);
}

/** The same, without waiting for whoever does: false then. */
export function tryLockCluster(manager: EntityManager, clusterId: string): Promise<boolean> {
  return tryAdvisoryLock(manager, `cluster:${clusterId}`);
}

/** One at a time decides about a gateway's certificates, a DNS label, until the transaction ends. */
export function lockGateway(manager: EntityManager, name: string): Promise<void> {
  return withAdvisoryLock(manager, `gateway:${name}`);
}

/** The same, without waiting for whoever does: false then. */
export function tryLockGateway(manager: EntityManager, name: string): Promise<boolean> {
  return tryAdvisoryLock(manager, `gateway:${name}`);
}

export async function recordCertificate(manager: EntityManager, certificate: RecordedCertificate): Promise<void> {
  await manager.insert(CertificateRow, certificate);
}

/** The highest generation that a cluster has a certificate of; null if it never had one. */
export async function newestGeneration(manager: EntityManager, clusterId: string): Promise<number | null> {
  const newest = await manager.findOne(CertificateRow, { where: { clusterId }, order: { generation: 'DESC' } });
  return newest?.generation ?? null;
}

/**
 * Is there a later enrolment than this one that is in use (it has had more than one certificate), or whose certificate was signed less than
 * so many seconds ago, by the clock of the database?
 */
export async function enrolledAbove(
  manager: EntityManager,
  clusterId: string,
  generation: number,
  withinSeconds: number,
): Promise<boolean> {
  const rows = (await manager.query(
    `select generation from certificates where cluster_id = $1 and generation > $2 group by generation
     having count(*) > 1 or max(created_at) > now() - make_interval(secs => $3) limit 1`,
    [clusterId, generation, withinSeconds],
  )) as unknown[];
  return rows.length > 0;
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

/** Whose certificates: an agent's, or those of all gateways, which belong to no tenant. */
export type ListedCertificates =
  | { readonly tenantId: string; readonly clusterId: string }
  | { readonly purpose: 'gateway' };

/**
 * Those that end last first, so those that have ended come last. From the one after `after`, a serial number, on. The order never changes,
 * whatever ends or is issued between two pages.
 */
export function listCertificates(
  manager: EntityManager,
  whose: ListedCertificates,
  after: string | null,
  limit: number,
): Promise<RecordedCertificate[]> {
  const query = manager
    .createQueryBuilder(CertificateRow, 'one')
    .where(whose)
    .orderBy({ 'one.notAfter': 'DESC', 'one.notBefore': 'DESC', 'one.serial': 'DESC' })
    .limit(limit);
  if (after !== null) {
    const last =
      'select last.not_after, last.not_before, last.serial from certificates last where last.serial = :after';
    query.andWhere(`(one.not_after, one.not_before, one.serial) < (${last})`, { after });
  }
  return query.getMany();
}

/** Of the gateway of this name, which is a DNS label: at most `limit` that ended after `endedAfter` and are not revoked; and whether it has any at all. */
export async function unrevokedOfGateway(
  manager: EntityManager,
  name: string,
  endedAfter: Date,
  limit: number,
): Promise<{ certificates: RecordedCertificate[]; known: boolean }> {
  const ofGateway = manager
    .createQueryBuilder(CertificateRow, 'one')
    .where(`one.purpose = 'gateway' and one.names[1] like :suffix`, { suffix: `spiffe://%/gateway/${name}` });
  const known = await ofGateway.clone().getExists();
  const certificates = await ofGateway
    .andWhere('one.not_after > :endedAfter', { endedAfter })
    .andWhere('not exists (select from revocations where revocations.serial = one.serial)')
    .orderBy('one.notAfter', 'DESC')
    .limit(limit)
    .getMany();
  return { certificates, known };
}

/**
 * Of this gateway, a DNS label: how many certificates have not ended and were not revoked; and when the last one of those that were revoked began,
 * null if none was. One that was to begin only after it was revoked, by a clock that was ahead, does not count: its successors would begin as late.
 */
export async function livesOfGateway(
  manager: EntityManager,
  name: string,
  now: Date,
): Promise<{ live: number; lastRevoked: Date | null }> {
  const [row] = (await manager.query(
    `select count(*) filter (where revoked_at is null and not_after > $2)::int as live,
       max(not_before) filter (where not_before <= revoked_at) as "lastRevoked"
     from certificates left join revocations using (serial) where purpose = 'gateway' and names[1] like $1`,
    [`spiffe://%/gateway/${name}`, now],
  )) as { live: number; lastRevoked: Date | null }[];
  return row ?? { live: 0, lastRevoked: null };
}

/** How many clusters have a newest certificate that was not revoked and has less than a fifth of its life left. */
export async function lapsingClusters(manager: EntityManager, now: Date): Promise<number> {
  const [row] = (await manager.query(
    `select count(*)::int as count from (
       select distinct on (cluster_id) not_before, not_after from certificates one
        where purpose = 'agent' and not_after > $1
          and not exists (select from revocations where revocations.serial = one.serial
                or (revocations.cluster_id = one.cluster_id and revocations.through_generation >= one.generation))
        order by cluster_id, generation desc, not_before desc, created_at desc) as newest
      where not_after - $1 < (not_after - not_before) / 5`,
    [now],
  )) as { count: number }[];
  return row?.count ?? 0;
}

/**
 * At most `limit` of those that ended before, and how many they were. What was revoked by its serial number stays, and so does the
 * newest of each cluster's newest generation.
 */
export async function deleteEndedCertificates(
  manager: EntityManager,
  endedBefore: Date,
  limit: number,
): Promise<number> {
  const rows = (await manager.query(
    `with ended as (
      select serial from certificates one
      where one.not_after < $1
        and not exists (select from revocations where revocations.serial = one.serial)
        and (one.cluster_id is null or exists (
          select from certificates newer where newer.cluster_id = one.cluster_id
            and (newer.generation, newer.not_before, newer.created_at, newer.serial)
              > (one.generation, one.not_before, one.created_at, one.serial)))
      order by one.not_after limit $2 for update skip locked
    ), deleted as (
      delete from certificates using ended where certificates.serial = ended.serial returning certificates.serial
    )
    select count(*)::int as count from deleted`,
    [endedBefore, limit],
  )) as { count: number }[];
  return rows[0]?.count ?? 0;
}
