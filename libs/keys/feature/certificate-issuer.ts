import type { Clock } from '@fairlead/clock';
import { NO_TENANT, type Caller, type Issued, type TrustBundle } from '@fairlead/contracts';
import { FairleadError, toFairleadError } from '@fairlead/errors';
import { appendEvent, createEvent, type Actor } from '@fairlead/events';
import { RateLimitedEvents } from '@fairlead/limits';
import { inTransaction } from '@fairlead/persistence';
import type { Logger } from '@fairlead/observability';
import { checkCsr, formatSpiffeId, type CheckedCsr, type PeerCertificate, type SpiffeId } from '@fairlead/pki';
import type { DataSource, EntityManager } from 'typeorm';
import type { CertificateAuthority, IssuedLeaf } from '../domain/certificate-authority.js';
import { renewableAt } from '../domain/recovery-window.js';
import { IssuanceLimiter } from '../domain/issuance-limiter.js';
import { checkServingNames, type ServingNames } from '../domain/serving-names.js';
import { recordCertificate, type CertificatePurpose } from '../store/certificate-store.js';
import { checkCurrent, checkEnrolment, checkGateway, provenCsr } from './check-current.js';
import type { CurrentEnrolment } from './cluster-watch.js';
import type { CurrentCa } from './current-ca.js';

export interface CertificateIssuerOptions {
  readonly database: DataSource;
  readonly ca: CurrentCa;
  readonly servingNames: ServingNames;
  /** How long after its end an agent's certificate is still good for a renewal, and for nothing else; default 30 days. */
  readonly recoveryWindowSeconds?: number;
  /** What registration says; default: nothing, and the newest enrolment that was signed here is the current one. */
  readonly currentEnrolment?: CurrentEnrolment;
  /** This process, as the source of events. */
  readonly source: Caller;
  readonly logger: Logger;
  /** Events were committed. */
  readonly onCommitted: () => void;
  readonly now?: () => Date;
  /** By which it counts what comes too often; default: the system's. */
  readonly clock?: Pick<Clock, 'monotonicMs'>;
}

/** Whom a request is for, as far as it is known: what an event about it says. */
interface Request {
  readonly purpose: CertificatePurpose;
  readonly tenantId: string;
  readonly clusterId: string | null;
  readonly actor: Actor;
}

type Leaf = IssuedLeaf['issued'];
type Renewal = Readonly<Record<'csr' | 'proof', string>> & { readonly currentChain: readonly string[] };

/** Decides who gets a certificate. Each one, and each refusal, is recorded with its event. */
export class CertificateIssuer {
  readonly #currentEnrolment: CurrentEnrolment;
  readonly #renewals: IssuanceLimiter;
  readonly #refusals = new RateLimitedEvents();

  constructor(private readonly options: CertificateIssuerOptions) {
    this.#currentEnrolment = options.currentEnrolment ?? (() => null);
    this.#renewals = new IssuanceLimiter(options.clock);
  }

  trustBundle(): Promise<TrustBundle> {
    return this.options.ca.trustBundle();
  }

  /** For an enrolment that registration has decided. CSR_INVALID; CONFLICT if there is a newer one; CERTIFICATE_REVOKED, also for its key; RATE_LIMITED. */
  async signAgent(
    caller: Caller,
    tenantId: string,
    input: { clusterId: string; generation: number; csr: string },
  ): Promise<Issued> {
    const { clusterId, generation } = input;
    const request: Request = { purpose: 'agent', tenantId, clusterId, actor: serviceActor(caller) };
    return this.#decide(request, async (manager, authority, trustVersion) => {
      const csr = await checkCsr(Buffer.from(input.csr, 'base64'));
      await checkEnrolment(manager, { clusterId, generation }, csr);
      this.#renewals.enrol(clusterId);
      return this.#issueAgent(manager, authority, request, csr, clusterId, { generation, trustVersion });
    });
  }

  /**
   * A fresh key for an agent. CERTIFICATE_REFUSED: not an agent certificate of ours, expired for too long, of an older enrolment, or
   * without proof that its key is held; CERTIFICATE_REVOKED; RATE_LIMITED; CSR_INVALID: also for a key that the cluster had before.
   */
  async renewAgent(caller: Caller, input: Renewal): Promise<Issued> {
    const unknown: Request = {
      purpose: 'agent',
      tenantId: NO_TENANT,
      clusterId: null,
      actor: { kind: 'unknown', id: '' },
    };
    const { authority: seen } = await this.options.ca.latest();
    const verify = (by: CertificateAuthority): Promise<PeerCertificate> => {
      const at = renewableAt(input.currentChain, this.#now(), this.options.recoveryWindowSeconds);
      return by.verify(input.currentChain, at);
    };
    const peer = await this.#orRefuse(unknown, () => verify(seen));
    const { id } = peer;
    if (id.kind !== 'agent') {
      return this.#refuse(unknown, new FairleadError('CERTIFICATE_REFUSED', 'only agents renew their certificates'));
    }
    const actor: Actor = { kind: 'agent', id: id.clusterId };
    const asked = { ...unknown, clusterId: id.clusterId, actor };
    const csr = await this.#orRefuse(asked, () => provenCsr(input));
    this.#renewals.admit(caller.credential, peer.serial);
    return this.#decide(asked, async (manager, authority, trustVersion) => {
      // A root may have been retired since.
      if (authority !== seen) await verify(authority);
      const { tenantId } = await checkCurrent(manager, id.clusterId, peer, csr, this.#currentEnrolment);
      this.#renewals.issue(id.clusterId);
      const request: Request = { purpose: 'agent', tenantId, clusterId: id.clusterId, actor };
      const { generation } = peer;
      return this.#issueAgent(manager, authority, request, csr, id.clusterId, { generation, trustVersion });
    });
  }

  /** For a client that registration has decided on. CSR_INVALID. */
  async signClient(caller: Caller, tenantId: string, input: { clientId: string; csr: string }): Promise<Issued> {
    const request: Request = { purpose: 'client', tenantId, clusterId: null, actor: serviceActor(caller) };
    return this.#decide(request, (manager, authority) =>
      this.#issueNamed(manager, authority, request, input.csr, { kind: 'client', name: input.clientId }),
    );
  }

  /** The identity of the calling gateway: its name is its credential's, whatever it asks for. RATE_LIMITED if it has too many. */
  async signGateway(caller: Caller, input: { csr: string }): Promise<Issued> {
    const actor: Actor = { kind: 'gateway', id: caller.credential };
    const request: Request = { purpose: 'gateway', tenantId: NO_TENANT, clusterId: null, actor };
    return this.#decide(request, async (manager, authority) => {
      const { credential: name } = caller;
      const { after } = await checkGateway(manager, name, this.#now(), this.options.logger);
      return this.#issueNamed(manager, authority, request, input.csr, { kind: 'gateway', name }, after);
    });
  }

  /** FORBIDDEN for a name that the configuration does not list for the caller's role. */
  async signServing(caller: Caller, input: { csr: string; names: readonly string[] }): Promise<Issued> {
    const request: Request = { purpose: 'serving', tenantId: NO_TENANT, clusterId: null, actor: serviceActor(caller) };
    return this.#decide(request, async (manager, authority) => {
      const names = input.names.map((name) => name.toLowerCase());
      checkServingNames(this.options.servingNames, caller.role, names);
      const csr = await checkCsr(Buffer.from(input.csr, 'base64'));
      const leaf = await authority.issueServing(csr, names, this.#now());
      return this.#record(manager, request, leaf, csr, names);
    });
  }

  async #issueAgent(
    manager: EntityManager,
    authority: CertificateAuthority,
    request: Request,
    csr: CheckedCsr,
    clusterId: string,
    enrolment: { readonly generation: number; readonly trustVersion: number },
  ): Promise<Leaf> {
    const id: SpiffeId = { kind: 'agent', trustDomain: authority.trustDomain, clusterId };
    const leaf = await authority.issueIdentity(csr, id, this.#now(), enrolment);
    return this.#record(manager, request, leaf, csr, [formatSpiffeId(id)], enrolment.generation);
  }

  async #issueNamed(
    manager: EntityManager,
    authority: CertificateAuthority,
    request: Request,
    csrBase64: string,
    who: { kind: 'gateway' | 'client'; name: string },
    after: Date | null = null,
  ): Promise<Leaf> {
    const csr = await checkCsr(Buffer.from(csrBase64, 'base64'));
    const id: SpiffeId = { ...who, trustDomain: authority.trustDomain };
    const leaf = await authority.issueIdentity(csr, id, this.#now(), { after });
    return this.#record(manager, request, leaf, csr, [formatSpiffeId(id)]);
  }

  async #record(
    manager: EntityManager,
    request: Request,
    leaf: IssuedLeaf,
    csr: CheckedCsr,
    names: string[],
    generation: number | null = null,
  ): Promise<Leaf> {
    const { purpose, tenantId, clusterId, actor } = request;
    const { serial, notAfter } = leaf.issued;
    const { notBefore, authorityId } = leaf;
    const what = { tenantId, purpose, names, clusterId, generation, serial };
    const record = { ...what, authorityId, spkiSha256: csr.spkiSha256, notBefore, notAfter: leaf.notAfter };
    await recordCertificate(manager, record);
    const event = { ...what, notAfter, actor, subject: `certificate/${serial}`, reason: 'OK' };
    await appendEvent(manager, createEvent(this.options.source, 'dev.fairlead.certificate.issued.v1', event));
    return leaf.issued;
  }

  async #decide(
    request: Request,
    work: (manager: EntityManager, authority: CertificateAuthority, trustVersion: number) => Promise<Leaf>,
  ): Promise<Issued> {
    const { ca, database } = this.options;
    const issued = await this.#orRefuse(request, async () => {
      await ca.upkeep();
      return inTransaction(database, async (manager) => {
        const { authority, bundle } = await ca.shared(manager);
        return { ...(await work(manager, authority, bundle.version)), trustVersion: bundle.version };
      });
    });
    this.options.onCommitted();
    return issued;
  }

  async #orRefuse<T>(request: Request, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      return this.#refuse(request, toFairleadError(error));
    }
  }

  /** Records a refusal in a transaction of its own, and throws it. What merely failed is no refusal, and what comes too often is not to fill the log. */
  async #refuse(request: Request, error: FairleadError): Promise<never> {
    if (error.kind.http >= 500 || error.code === 'RATE_LIMITED') throw error;
    const { clusterId, actor } = request;
    const suppressed = isService(actor) ? 0 : this.#refusals.take(actor.kind === 'agent' ? clusterId : null);
    if (suppressed === null) throw error;
    const subject = clusterId ? `cluster/${clusterId}` : `certificate/${request.purpose}`;
    const data = { ...request, subject, reason: error.code, suppressed };
    const event = createEvent(this.options.source, 'dev.fairlead.certificate.refused.v1', data);
    await inTransaction(this.options.database, (manager) => appendEvent(manager, event)).catch((cause: unknown) => {
      this.options.logger.error('event.not_recorded', { eventId: event.id, reason: error.code, err: cause });
    });
    this.options.onCommitted();
    throw error;
  }

  #now(): Date {
    return this.options.now?.() ?? new Date();
  }
}

function isService({ kind }: Actor): boolean {
  return kind === 'service' || kind === 'gateway';
}

function serviceActor(caller: Caller): Actor {
  return { kind: caller.role === 'gateway' ? 'gateway' : 'service', id: caller.credential };
}
