import { DEFAULT_TENANT, type Caller, type Issued } from '@fairlead/contracts';
import { FairleadError, assertNever, toFairleadError } from '@fairlead/errors';
import { RateLimitedEvents } from '@fairlead/limits';
import { checkCsr, type CheckedCsr } from '@fairlead/pki';
import type { EntityManager } from 'typeorm';
import { decideEnrolment } from '../domain/decide-enrolment.js';
import { EnrolmentLimit } from '../domain/enrolment-limit.js';
import { saidAtEnrolment } from '../domain/known-facts.js';
import { ADOPTED, insertCluster, lockCluster, markEnrolled, type StoredCluster } from '../store/cluster-store.js';
import type { StoredEnrolmentRequest } from '../store/enrolment-request-store.js';
import {
  bindBootstrapToken,
  findBootstrapToken,
  lockBootstrapToken,
  presented,
  type StoredBootstrapToken,
} from '../store/token-store.js';
import type { ApprovalPolicies } from './approval-policies.js';
import type { ApprovalWebhook } from './approval-webhook.js';
import type { EnrolmentRequests } from './enrolment-requests.js';
import type { LinkProblems } from './link-problems.js';
import {
  provenCluster,
  refusal,
  rejected,
  rememberRefused,
  unknownToken,
  type EnrolInput,
} from './enrolment-refusals.js';
import { commit, read, refuse, tell, type Runtime } from './runtime.js';
import type { LetInBy, OnEnrolled } from './meter-enrolments.js';
import { requireToken, showsToken } from './shown-token.js';

export interface Enrolled {
  readonly tenantId: string;
  readonly clusterId: string;
  readonly generation: number;
  readonly chain: string[];
  readonly roots: string[];
}

/** Asks the keys service for the certificate of an enrolment that was decided. */
export type SignAgent = (
  tenantId: string,
  request: { clusterId: string; generation: number; csr: string },
) => Promise<Issued>;

/** Who decides, and what was decided. */
export interface Approval {
  readonly policies: ApprovalPolicies;
  readonly requests: EnrolmentRequests;
  readonly webhook: ApprovalWebhook;
  /** Where refusals of known clusters are remembered. */
  readonly linkProblems: LinkProblems;
}

interface Decided {
  readonly cluster: StoredCluster;
  readonly generation: number;
  /** Of one that was decided before this question: when, and by what. */
  readonly before?: { readonly by: LetInBy; readonly at: Date | null };
}

type WithToken = EnrolInput & { readonly token: StoredBootstrapToken };

/** Certificates for agents, by a bootstrap token or an administrator's word: as the policy of the cluster has it. */
export class Enrolments {
  readonly #refusals = new RateLimitedEvents();
  readonly #limit = new EnrolmentLimit();

  constructor(
    private readonly runtime: Runtime,
    private readonly approval: Approval,
    private readonly signAgent: SignAgent,
    private readonly onEnrolled: OnEnrolled = () => undefined,
  ) {}

  /**
   * Spends the token on the request's key, then fetches the certificate: when that fails, the same key may ask again.
   * TOKEN_UNKNOWN (also for a wrong secret), TOKEN_EXPIRED, TOKEN_REVOKED, TOKEN_USED, CSR_INVALID; ENROLMENT_PENDING while
   * an administrator has to decide, ENROLMENT_REJECTED; UNAUTHENTICATED without a token where nobody is adopted. RATE_LIMITED for what comes
   * too often, before anything is read for it.
   */
  async enrol(caller: Caller, input: EnrolInput): Promise<Enrolled> {
    const giveBack = this.#limit.take(caller.credential);
    try {
      const key = checkCsr(Buffer.from(input.csr, 'base64'));
      // What is wrong with a request is told with the token that it shows.
      const asking = await key.catch(() => null);
      if (asking) this.#limit.ask(caller.credential, asking.spkiSha256);
      return await this.#enrol(caller, input, key);
    } finally {
      giveBack();
    }
  }

  async #enrol(caller: Caller, input: EnrolInput, key: Promise<CheckedCsr>): Promise<Enrolled> {
    const askedMs = this.runtime.now().getTime();
    const token = await this.#tokenOf(input);
    const { cluster, generation, before } = await this.#decide(caller, input, token, key).catch(
      async (error: unknown) => {
        const known = toFairleadError(error);
        // A full queue must not fill the event log instead.
        if (known.code === 'RATE_LIMITED') throw known;
        await rememberRefused(this.approval.linkProblems, input, token, known);
        const limit = { rate: this.#refusals, who: provenCluster(token, known) };
        const event = refusal(caller, input, token, known);
        return refuse(this.runtime, limit, known, 'dev.fairlead.enrolment.refused.v1', event);
      },
    );
    const { id: clusterId, tenantId } = cluster;
    const { chain, roots } = await this.signAgent(tenantId, { clusterId, generation, csr: input.csr });
    const sinceMs = Math.min(askedMs, before?.at?.getTime() ?? askedMs);
    this.onEnrolled(before?.by ?? 'token', this.runtime.now().getTime() - sinceMs);
    return { tenantId, clusterId, generation, chain, roots };
  }

  async #tokenOf({ tokenId }: EnrolInput): Promise<StoredBootstrapToken | null> {
    return tokenId === null ? null : read(this.runtime, (manager) => findBootstrapToken(manager, tokenId));
  }

  async #decide(
    caller: Caller,
    input: EnrolInput,
    found: StoredBootstrapToken | null,
    key: Promise<CheckedCsr>,
  ): Promise<Decided> {
    const { spkiSha256 } = await key;
    const known = await this.approval.requests.ofKey(spkiSha256);
    // Who has this key asked before: the answer stands while that token is good. Another token is another question.
    const stands = known !== null && (input.tokenId === null || input.tokenId === known.tokenId);
    if (stands) await requireToken(this.runtime, known);
    const first = (): Promise<Decided | StoredEnrolmentRequest> =>
      input.tokenId === null ? this.#adopt(caller, input, spkiSha256) : this.#byToken(input, found, spkiSha256);
    const outcome = stands ? known : await first();
    if (!('state' in outcome)) return outcome;
    const approved = await this.approval.requests.enrolmentOf(await this.approval.webhook.consult(outcome));
    return { ...approved, before: { by: 'approval', at: approved.cluster.enrolledAt } };
  }

  /** Without a token: it belongs to no cluster yet. An enrolment where everybody gets one, or a request that somebody has to decide about. */
  async #adopt(
    caller: Caller,
    { facts, remoteAddress }: EnrolInput,
    spkiSha256: string,
  ): Promise<Decided | StoredEnrolmentRequest> {
    const { policies, requests } = this.approval;
    const asking = { tenantId: DEFAULT_TENANT, spkiSha256, clusterId: null, tokenId: null, facts, remoteAddress };
    return commit(this.runtime, async (manager) => {
      const policy = await policies.effective(manager, DEFAULT_TENANT, null);
      switch (policy) {
        case 'token':
          throw new FairleadError('UNAUTHENTICATED', 'this installation adopts no agent without a bootstrap token');
        case 'always-reject':
          throw rejected();
        case 'queue':
        case 'webhook':
          return requests.add(manager, asking);
        case 'insecure-always-approve': {
          const name = `adopted-${spkiSha256.slice(0, 12)}`;
          const request = await requests.add(manager, asking);
          const made = await insertCluster(manager, { tenantId: DEFAULT_TENANT, name, ...ADOPTED });
          const { generation } = await requests.approveIn(manager, caller, request, made, true);
          this.runtime.logger.warn('enrolment.approved_insecurely', { name, fingerprint: spkiSha256, remoteAddress });
          return { cluster: made, generation: generation ?? 1 };
        }
        default:
          return assertNever(policy);
      }
    });
  }

  async #byToken(
    input: EnrolInput,
    found: StoredBootstrapToken | null,
    spkiSha256: string,
  ): Promise<Decided | StoredEnrolmentRequest> {
    // Before anything else is told: only who has the secret learns in which state the token is.
    if (!showsToken(input, found)) throw unknownToken();
    return commit(this.runtime, async (manager) => {
      const cluster = await lockCluster(manager, found.clusterId);
      const token = await lockBootstrapToken(manager, found.id);
      if (!cluster || !token) throw unknownToken();
      return this.#decideLocked(manager, input, spkiSha256, cluster, token);
    });
  }

  async #decideLocked(
    manager: EntityManager,
    input: EnrolInput,
    spkiSha256: string,
    cluster: StoredCluster,
    token: StoredBootstrapToken,
  ): Promise<Decided | StoredEnrolmentRequest> {
    const decision = decideEnrolment(presented(token), cluster, spkiSha256, this.runtime.now());
    switch (decision.kind) {
      case 'refuse':
        throw new FairleadError(decision.code, decision.reason);
      case 'bind':
        return this.#approve(manager, { ...input, token }, spkiSha256, cluster, decision.generation);
      case 'repeat':
        return { cluster, generation: decision.generation, before: { by: 'token', at: cluster.enrolledAt } };
      default:
        return assertNever(decision);
    }
  }

  /** The token is good: what does the cluster's policy make of it? */
  async #approve(
    manager: EntityManager,
    input: WithToken,
    spkiSha256: string,
    cluster: StoredCluster,
    generation: number,
  ): Promise<Decided | StoredEnrolmentRequest> {
    const { id: clusterId, tenantId } = cluster;
    const policy = await this.approval.policies.effective(manager, tenantId, cluster);
    switch (policy) {
      case 'always-reject':
        throw rejected();
      case 'queue':
      case 'webhook': {
        const { facts, remoteAddress, token } = input;
        // Before anybody decides: another key must not wait with the same token for a later approval.
        await bindBootstrapToken(manager, token.id, spkiSha256, null);
        const asking = { tenantId, spkiSha256, clusterId, tokenId: token.id, facts, remoteAddress };
        return this.approval.requests.add(manager, asking, token.expiresAt);
      }
      case 'token':
      case 'insecure-always-approve':
        await this.#bind(manager, input, spkiSha256, cluster, generation);
        return { cluster, generation };
      default:
        return assertNever(policy);
    }
  }

  async #bind(
    manager: EntityManager,
    { token: { id: tokenId }, facts, remoteAddress }: WithToken,
    spkiSha256: string,
    cluster: StoredCluster,
    generation: number,
  ): Promise<void> {
    await bindBootstrapToken(manager, tokenId, spkiSha256, generation);
    await markEnrolled(manager, cluster, { generation, facts, enrolledAt: this.runtime.now() });
    await tell(this.runtime, manager, 'dev.fairlead.enrolment.succeeded.v1', {
      tenantId: cluster.tenantId,
      clusterId: cluster.id,
      name: cluster.name,
      tokenId,
      generation,
      spkiSha256,
      ...saidAtEnrolment(cluster.facts, facts),
      subject: `cluster/${cluster.id}`,
      actor: { kind: 'agent', id: cluster.id, address: remoteAddress },
      reason: 'OK',
    });
  }
}
