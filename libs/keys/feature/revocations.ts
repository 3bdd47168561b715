import { isOfInstallation, type Caller, type CertificateRecord } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { appendEvent, createEvent } from '@fairlead/events';
import { inTransaction, readFrom } from '@fairlead/persistence';
import type { DataSource, EntityManager } from 'typeorm';
import {
  findCertificate,
  listCertificates,
  lockCluster,
  lockGateway,
  unrevokedOfGateway,
  type ListedCertificates,
  type RecordedCertificate,
} from '../store/certificate-store.js';
import type { CurrentCa } from './current-ca.js';
import {
  KNOWN_FOR_MS,
  insertCertificateRevocation,
  raiseGenerationRevocation,
  revocationOf,
  revocationsOf,
  type StoredRevocation,
} from '../store/revocation-store.js';

export interface RevocationsOptions {
  readonly database: DataSource;
  /** This process, as the source of events. */
  readonly source: Caller;
  /** Tells agents, by the trust bundle. */
  readonly ca: Pick<CurrentCa, 'publishRevokedGateways'>;
  /** Events and the projection may go out. */
  readonly onCommitted: () => void;
  readonly now?: () => Date;
}

/** Of one page. */
const LISTED = 200;
const REVOKED_AT_ONCE = 1_000;

/** Makes certificates worth nothing before they expire. What is revoked stays so. */
export class Revocations {
  constructor(private readonly options: RevocationsOptions) {}

  /** NOT_FOUND if it is none of the tenant's. Those of gateways belong to the installation, as the CA does, and so to its tenant. */
  async revokeCertificate(
    caller: Caller,
    tenantId: string,
    { serial, reason }: { serial: string; reason: string },
  ): Promise<CertificateRecord> {
    const { database, onCommitted } = this.options;
    const record = await inTransaction(database, async (manager) => {
      const certificate = await findCertificate(manager, serial);
      const isOwn = certificate?.tenantId === tenantId;
      const isGateways = certificate?.purpose === 'gateway' && isOfInstallation(tenantId);
      if (!certificate || !(isOwn || isGateways)) {
        throw new FairleadError('NOT_FOUND', `there is no certificate with the serial number ${serial}`);
      }
      if (certificate.purpose === 'gateway') await lockGateway(manager, gatewayOf(certificate));
      await this.#revoke(manager, caller, certificate, reason);
      return toRecord(certificate, await revocationOf(manager, certificate));
    });
    onCommitted();
    await this.#tellAgents(record.purpose);
    return record;
  }

  /**
   * All that the gateway of this name has, and those it had, as long as something may stand that was opened with them: the newest thousand.
   * `more`: to be asked again. NOT_FOUND for a gateway that never had any. Its credential may get it new ones.
   */
  async revokeGateway(
    caller: Caller,
    { name, reason }: { readonly name: string; readonly reason: string },
  ): Promise<{ revoked: number; more: boolean }> {
    const { database, onCommitted } = this.options;
    const endedAfter = new Date(this.#now().getTime() - KNOWN_FOR_MS);
    const revoked = await inTransaction(database, async (manager) => {
      await lockGateway(manager, name);
      const { certificates, known } = await unrevokedOfGateway(manager, name, endedAfter, REVOKED_AT_ONCE);
      if (!known) throw new FairleadError('NOT_FOUND', `there is no certificate of a gateway named ${name}`);
      for (const certificate of certificates) await this.#revoke(manager, caller, certificate, reason);
      return certificates.length;
    });
    onCommitted();
    await this.#tellAgents('gateway');
    return { revoked, more: revoked === REVOKED_AT_ONCE };
  }

  /** In a transaction of its own: what is revoked stays so, also where nothing can be signed. Asking again makes up for it. */
  async #tellAgents(purpose: CertificateRecord['purpose']): Promise<void> {
    if (purpose === 'gateway') await this.options.ca.publishRevokedGateways();
  }

  async #revoke(
    manager: EntityManager,
    caller: Caller,
    { tenantId, serial, purpose, clusterId }: RecordedCertificate,
    reason: string,
  ): Promise<void> {
    const revokedAt = this.#now();
    if (!(await insertCertificateRevocation(manager, { tenantId, serial, reason, revokedAt }))) return;
    const about = { tenantId, subject: `certificate/${serial}`, actor: actorOf(caller), reason: 'OK' };
    const data = { ...about, purpose, clusterId, serial, why: reason };
    const { source } = this.options;
    await appendEvent(manager, createEvent(source, 'dev.fairlead.certificate.revoked.v1', data, revokedAt));
  }

  /** Registration tells of it in an event of its own, which has the cluster's name. */
  async revokeGenerations(
    tenantId: string,
    input: { clusterId: string; throughGeneration: number; reason: string; clusterDeleted?: boolean },
  ): Promise<void> {
    await inTransaction(this.options.database, async (manager) => {
      await lockCluster(manager, input.clusterId);
      const { clusterDeleted = false } = input;
      await raiseGenerationRevocation(manager, { ...input, clusterDeleted, tenantId, revokedAt: this.#now() });
    });
    this.options.onCommitted();
  }

  /** Those that end last first; `next` is there if there may be more: to be passed as `after`. INVALID_ARGUMENT for one that is not among them. */
  async list(
    whose: ListedCertificates,
    after: string | null = null,
  ): Promise<{ certificates: CertificateRecord[]; next?: string }> {
    const certificates = await this.#page(whose, after);
    const last = certificates.at(-1);
    return last && certificates.length === LISTED ? { certificates, next: last.serial } : { certificates };
  }

  #page(whose: ListedCertificates, after: string | null): Promise<CertificateRecord[]> {
    return readFrom(this.options.database, async (manager) => {
      if (after !== null) await requireOf(manager, whose, after);
      const certificates = await listCertificates(manager, whose, after, LISTED);
      const serials = certificates.map(({ serial }) => serial);
      const clusterId = 'clusterId' in whose ? whose.clusterId : null;
      const { bySerial, ofGenerations } = await revocationsOf(manager, clusterId, serials);
      return certificates.map((certificate) => {
        const fenced = (ofGenerations?.throughGeneration ?? -1) >= (certificate.generation ?? 0);
        return toRecord(certificate, bySerial.get(certificate.serial) ?? (fenced ? ofGenerations : null));
      });
    });
  }

  #now(): Date {
    return this.options.now?.() ?? new Date();
  }
}

/** It may have been forgotten since the page before. */
async function requireOf(manager: EntityManager, whose: ListedCertificates, serial: string): Promise<void> {
  const found = await findCertificate(manager, serial);
  const isAmong =
    'clusterId' in whose
      ? found?.tenantId === whose.tenantId && found.clusterId === whose.clusterId
      : found?.purpose === whose.purpose;
  if (isAmong) return;
  throw new FairleadError('INVALID_ARGUMENT', `there is no certificate ${serial} to go on after; list from the start`);
}

/** Its name ends with the gateway's. */
function gatewayOf({ names: [name = ''] }: RecordedCertificate): string {
  return name.slice(name.lastIndexOf('/') + 1);
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
