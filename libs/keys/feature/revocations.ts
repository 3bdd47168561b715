import type { Caller, CertificateRecord } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { appendEvent, createEvent } from '@fairlead/events';
import { inTransaction, readFrom } from '@fairlead/persistence';
import type { DataSource, EntityManager } from 'typeorm';
import {
  certificatesOfCluster,
  findCertificate,
  lockCluster,
  type RecordedCertificate,
} from '../store/certificate-store.js';
import {
  insertCertificateRevocation,
  raiseGenerationRevocation,
  revocationOf,
  revocationsOfCluster,
  type StoredRevocation,
} from '../store/revocation-store.js';

export interface RevocationsOptions {
  readonly database: DataSource;
  /** This process, as the source of events. */
  readonly source: Caller;
  /** Events and the projection may go out. */
  readonly onCommitted: () => void;
  readonly now?: () => Date;
}

/** Of one page. */
const LISTED = 200;

/** Makes certificates worth nothing before they expire. What is revoked stays so. */
export class Revocations {
  readonly #options: RevocationsOptions;

  constructor(options: RevocationsOptions) {
    this.#options = options;
  }

  /** NOT_FOUND if it is not one of the tenant's. */
  async revokeCertificate(
    caller: Caller,
    tenantId: string,
    { serial, reason }: { serial: string; reason: string },
  ): Promise<CertificateRecord> {
    const { database, source, onCommitted } = this.#options;
    const record = await inTransaction(database, async (manager) => {
      const certificate = await findCertificate(manager, serial);
      if (certificate?.tenantId !== tenantId) {
        throw new FairleadError('NOT_FOUND', `there is no certificate with the serial number ${serial}`);
      }
      const { purpose, clusterId } = certificate;
      const revokedAt = this.#now();
      if (await insertCertificateRevocation(manager, { tenantId, serial, reason, revokedAt })) {
        const about = { tenantId, subject: `certificate/${serial}`, actor: actorOf(caller), reason: 'OK' };
        const data = { ...about, purpose, clusterId, serial, why: reason };
        await appendEvent(manager, createEvent(source, 'dev.fairlead.certificate.revoked.v1', data, revokedAt));
      }
      return toRecord(certificate, await revocationOf(manager, certificate));
    });
    onCommitted();
    return record;
  }

  /** Registration tells of it in an event of its own, which has the cluster's name. */
  async revokeGenerations(
    tenantId: string,
    input: { clusterId: string; throughGeneration: number; reason: string; clusterDeleted?: boolean },
  ): Promise<void> {
    await inTransaction(this.#options.database, async (manager) => {
      await lockCluster(manager, input.clusterId);
      const { clusterDeleted = false } = input;
      await raiseGenerationRevocation(manager, { ...input, clusterDeleted, tenantId, revokedAt: this.#now() });
    });
    this.#options.onCommitted();
  }

  /** Those that end last first; `next` is there if there may be more: to be passed as `after`. INVALID_ARGUMENT for one that is not of the cluster. */
  async list(
    tenantId: string,
    { clusterId, after = null }: { readonly clusterId: string; readonly after?: string | null | undefined },
  ): Promise<{ certificates: CertificateRecord[]; next?: string }> {
    const certificates = await this.#page(tenantId, clusterId, after);
    const last = certificates.at(-1);
    return last && certificates.length === LISTED ? { certificates, next: last.serial } : { certificates };
  }

  #page(tenantId: string, clusterId: string, after: string | null): Promise<CertificateRecord[]> {
    return readFrom(this.#options.database, async (manager) => {
      if (after !== null) await requireOf(manager, { tenantId, clusterId }, after);
      const certificates = await certificatesOfCluster(manager, { tenantId, clusterId }, after, LISTED);
      const serials = certificates.map(({ serial }) => serial);
      const { bySerial, ofGenerations } = await revocationsOfCluster(manager, clusterId, serials);
      return certificates.map((certificate) => {
        const fenced = (ofGenerations?.throughGeneration ?? -1) >= (certificate.generation ?? 0);
        return toRecord(certificate, bySerial.get(certificate.serial) ?? (fenced ? ofGenerations : null));
      });
    });
  }

  #now(): Date {
    return this.#options.now?.() ?? new Date();
  }
}

/** It may have been forgotten since the page before. */
async function requireOf(
  manager: EntityManager,
  { tenantId, clusterId }: { readonly tenantId: string; readonly clusterId: string },
  serial: string,
): Promise<void> {
  const found = await findCertificate(manager, serial);
  if (found?.tenantId === tenantId && found.clusterId === clusterId) return;
  throw new FairleadError(
    'INVALID_ARGUMENT',
    `the cluster has no certificate ${serial} to go on after; list from the start`,
  );
}

function toRecord(certificate: RecordedCertificate, revocation: StoredRevocation | null): CertificateRecord {
  const { serial, purpose, names, generation, notBefore, notAfter } = certificate;
  return {
    serial,
    purpose,
    names,
    generation,
    notBefore: notBefore.toISOString(),
    notAfter: notAfter.toISOString(),
    revokedAt: revocation?.revokedAt.toISOString() ?? null,
    revokedFor: revocation?.reason ?? null,
  };
}

function actorOf({ credential }: Caller): { kind: 'service'; id: string } {
  return { kind: 'service', id: credential };
}
