import type { Caller, EnrolmentRequest, Facts } from '@fairlead/contracts';
import { FairleadError, assertNever } from '@fairlead/errors';
import type { EntityManager } from 'typeorm';
import { QUEUE } from '../domain/adoption-queue.js';
import {
  clusterNames,
  findCluster,
  findClusterByName,
  insertCluster,
  lockCluster,
  markEnrolled,
  type StoredCluster,
} from '../store/cluster-store.js';
import {
  changeRequest,
  dropOldRequests,
  findRequestByKey,
  insertRequest,
  listRequests,
  lockRequest,
  type StoredEnrolmentRequest,
} from '../store/enrolment-request-store.js';
import { revokeUnusedTokens } from '../store/token-store.js';
import { takeRoom } from './queue-room.js';
import { actorOf, commit, read, tell, type Runtime } from './runtime.js';

const LISTED = 500;
/** In events, in the place of a token's id, for an agent that an administrator let in. */
export const ADOPTION = 'adoption';
/** How often it is written down that an agent still asks. */
const TOUCH_MS = 60_000;

/** Who asks for an identity. */
export interface Asking {
  readonly tenantId: string;
  readonly spkiSha256: string;
  /** Whose token it showed; null: it has none. */
  readonly clusterId: string | null;
  readonly facts: Facts;
  readonly remoteAddress: string;
}

/** Agents that wait for an administrator, and what was decided about them. */
export class EnrolmentRequests {
  readonly #runtime: Runtime;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** What was decided about this key; null if it never asked, or so long ago that it is forgotten. */
  async ofKey(spkiSha256: string): Promise<StoredEnrolmentRequest | null> {
    const request = await read(this.#runtime, (manager) => findRequestByKey(manager, spkiSha256));
    if (!request || request.expiresAt <= this.#runtime.now()) return null;
    return request;
  }

  /** The enrolment that a key was approved for. ENROLMENT_PENDING, ENROLMENT_REJECTED, TOKEN_REVOKED. */
  async enrolmentOf(request: StoredEnrolmentRequest): Promise<{ cluster: StoredCluster; generation: number }> {
    switch (request.state) {
      case 'pending':
        await this.#touch(request);
        throw pending(request.spkiSha256);
      case 'rejected':
        throw new FairleadError('ENROLMENT_REJECTED', `an administrator rejected this agent: ${request.reason ?? ''}`);
      case 'approved':
        return this.#approved(request);
      default:
        return assertNever(request.state);
    }
  }

  /** Puts an agent into the queue, in a transaction of the caller's. RATE_LIMITED if it is full. */
  async add(manager: EntityManager, asking: Asking): Promise<StoredEnrolmentRequest> {
    const now = this.#runtime.now();
    await dropOldRequests(manager, now, new Date(now.getTime() - QUEUE.silenceMs));
    await takeRoom(manager, asking);
    const request: StoredEnrolmentRequest = {
      ...asking,
      id: crypto.randomUUID(),
      state: 'pending',
      generation: null,
      reason: null,
      createdAt: now,
      lastAskedAt: now,
      expiresAt: new Date(now.getTime() + QUEUE.lifeMs),
      decidedAt: null,
    };
    // The same key asked through another replica at this moment: it is in the queue.
    if (!(await insertRequest(manager, request))) return request;
    const actor = { kind: 'unknown', id: '', address: asking.remoteAddress } as const;
    await tell(this.#runtime, manager, 'dev.fairlead.enrolment.requested.v1', { ...about(request), actor });
    return request;
  }

  /** As many as are shown at once, newest first. */
  async list(tenantId: string, state?: StoredEnrolmentRequest['state']): Promise<EnrolmentRequest[]> {
    return read(this.#runtime, async (manager) => {
      const requests = await listRequests(manager, tenantId, state, LISTED);
      const now = this.#runtime.now();
      const alive = requests.filter(({ expiresAt }) => expiresAt > now);
      const names = await clusterNames(
        manager,
        alive.flatMap(({ clusterId }) => clusterId ?? []),
      );
      return alive.map((request) => show(request, names.get(request.clusterId ?? '') ?? null));
    });
  }

  /** The agent's next question is answered with a certificate. NOT_FOUND, CONFLICT, INVALID_ARGUMENT. */
  async approve(caller: Caller, tenantId: string, id: string, name?: string): Promise<EnrolmentRequest> {
    return commit(this.#runtime, async (manager) => {
      const request = await this.#undecided(manager, tenantId, id);
      const cluster = await this.#clusterFor(manager, request, name);
      const approved = await this.approveIn(manager, caller, request, cluster, false);
      return show(approved, cluster.name);
    });
  }

  /** A new enrolment of the cluster, for this key. In a transaction of the caller's. */
  async approveIn(
    manager: EntityManager,
    caller: Caller,
    request: StoredEnrolmentRequest,
    cluster: StoredCluster,
    insecure: boolean,
  ): Promise<StoredEnrolmentRequest> {
    const now = this.#runtime.now();
    const generation = cluster.generation + 1;
    const { facts, spkiSha256 } = request;
    const change = { state: 'approved', clusterId: cluster.id, generation, decidedAt: now } as const;
    await revokeUnusedTokens(manager, cluster.id, now);
    await changeRequest(manager, request.id, change);
    await markEnrolled(manager, cluster.id, { generation, facts, enrolledAt: now });
    const event = { ...about({ ...request, ...change }), clusterId: cluster.id, name: cluster.name };
    const actor = actorOf(caller);
    await tell(this.#runtime, manager, 'dev.fairlead.enrolment.approved.v1', { ...event, actor, insecure });
    await tell(this.#runtime, manager, 'dev.fairlead.enrolment.succeeded.v1', {
      tenantId: request.tenantId,
      clusterId: cluster.id,
      name: cluster.name,
      tokenId: ADOPTION,
      generation,
      spkiSha256,
      agentVersion: facts.agentVersion,
      kubernetesVersion: facts.kubernetesVersion,
      subject: `cluster/${cluster.id}`,
      actor: { kind: 'agent', id: cluster.id, address: request.remoteAddress },
      reason: 'OK',
    });
    return { ...request, ...change };
  }

  /** NOT_FOUND, CONFLICT. */
  async reject(caller: Caller, tenantId: string, id: string, reason: string): Promise<EnrolmentRequest> {
    return commit(this.#runtime, async (manager) => {
      const request = await this.#undecided(manager, tenantId, id);
      const change = { state: 'rejected', reason, decidedAt: this.#runtime.now() } as const;
      await changeRequest(manager, id, change);
      const event = { ...about(request), actor: actorOf(caller), why: reason };
      await tell(this.#runtime, manager, 'dev.fairlead.enrolment.rejected.v1', event);
      const names = await clusterNames(manager, request.clusterId === null ? [] : [request.clusterId]);
      return show({ ...request, ...change }, names.get(request.clusterId ?? '') ?? null);
    });
  }

  async #undecided(manager: EntityManager, tenantId: string, id: string): Promise<StoredEnrolmentRequest> {
    const request = await lockRequest(manager, id);
    if (request?.tenantId !== tenantId || request.expiresAt <= this.#runtime.now()) {
      throw new FairleadError('NOT_FOUND', 'there is no such enrolment request, or it has expired');
    }
    if (request.state === 'pending') return request;
    throw new FairleadError('CONFLICT', `the enrolment request was ${request.state} before`);
  }

  async #clusterFor(manager: EntityManager, request: StoredEnrolmentRequest, name?: string): Promise<StoredCluster> {
    const { tenantId, clusterId } = request;
    if (clusterId !== null) {
      const own = await lockCluster(manager, clusterId);
      if (!own) throw new FairleadError('NOT_FOUND', 'the cluster of this request was deleted');
      if (name === undefined || name === own.name) return own;
      throw new FairleadError('CONFLICT', `this agent showed a token of the cluster ${own.name}, not of ${name}`);
    }
    if (name === undefined) {
      throw new FairleadError('INVALID_ARGUMENT', 'this agent showed no token: say which cluster it is');
    }
    const known = await findClusterByName(manager, tenantId, name).catch(ifMissing);
    if (!known) return insertCluster(manager, { tenantId, name, labels: {}, links: 2, targets: [] });
    const cluster = await lockCluster(manager, known.id);
    if (!cluster) throw new FairleadError('NOT_FOUND', `the cluster ${name} was deleted meanwhile`);
    return cluster;
  }

  async #approved({
    clusterId,
    generation,
  }: StoredEnrolmentRequest): Promise<{ cluster: StoredCluster; generation: number }> {
    const cluster = await read(this.#runtime, (manager) => findCluster(manager, clusterId as string));
    if (!cluster) throw new FairleadError('NOT_FOUND', 'the cluster of this agent was deleted');
    if (cluster.generation === generation) return { cluster, generation };
    throw new FairleadError('TOKEN_REVOKED', 'the cluster has enrolled again since this agent was approved');
  }

  async #touch({ id, lastAskedAt }: StoredEnrolmentRequest): Promise<void> {
    const now = this.#runtime.now();
    if (now.getTime() - lastAskedAt.getTime() < TOUCH_MS) return;
    await read(this.#runtime, (manager) => changeRequest(manager, id, { lastAskedAt: now }));
  }
}

/** What an agent that waits is told. */
function pending(spkiSha256: string): FairleadError {
  return new FairleadError('ENROLMENT_PENDING', `waiting for an administrator to approve the key ${spkiSha256}`);
}

function ifMissing(error: unknown): null {
  if (error instanceof FairleadError && error.code === 'NOT_FOUND') return null;
  throw error;
}

function about({ id, tenantId, clusterId, spkiSha256 }: StoredEnrolmentRequest) {
  return {
    tenantId,
    clusterId,
    requestId: id,
    fingerprint: spkiSha256,
    subject: `enrolment-request/${id}`,
    reason: 'OK',
  };
}

function show(request: StoredEnrolmentRequest, cluster: string | null): EnrolmentRequest {
  const { id, tenantId, state, spkiSha256, facts, remoteAddress, reason } = request;
  return {
    id,
    tenantId,
    state,
    fingerprint: spkiSha256,
    cluster,
    facts,
    remoteAddress,
    createdAt: request.createdAt.toISOString(),
    lastAskedAt: request.lastAskedAt.toISOString(),
    expiresAt: request.expiresAt.toISOString(),
    decidedAt: request.decidedAt?.toISOString() ?? null,
    reason,
  };
}
