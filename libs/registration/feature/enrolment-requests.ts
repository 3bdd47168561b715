import {
  enrolmentPlaceText,
  fitPage,
  readEnrolmentPlace,
  type Caller,
  type EnrolmentRequest,
  type Facts,
} from '@fairlead/contracts';
import { FairleadError, assertNever } from '@fairlead/errors';
import { RateLimitedEvents, networkOf } from '@fairlead/limits';
import { withAdvisoryLock } from '@fairlead/persistence';
import type { EntityManager } from 'typeorm';
import { ADOPTION, QUEUE, whyFull } from '../domain/adoption-queue.js';
import { knownFacts, saidAtEnrolment } from '../domain/known-facts.js';
import {
  ADOPTED,
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
  countPending,
  deleteRequest,
  dropDecided,
  dropOldRequests,
  findRequest,
  findRequestByKey,
  insertRequest,
  listRequests,
  lockRequest,
  type RequestFilter,
  type StoredEnrolmentRequest,
} from '../store/enrolment-request-store.js';
import { bindBootstrapToken, revokeUnusedTokens } from '../store/token-store.js';
import { actorOf, commit, read, tell, type Runtime } from './runtime.js';
import { lockToken } from './shown-token.js';
import { aboutRequest, rejectIn, turnAway } from './turn-away.js';

const PAGE_ROWS = 500;
/** A queue that fills at once is told whole. */
const QUEUEFUL = { burst: QUEUE.perTenant };
/** How often it is written down that an agent still asks. */
const TOUCH_MS = 60_000;

/** Who asks for an identity. */
export interface Asking {
  readonly tenantId: string;
  readonly spkiSha256: string;
  /** Whose token it showed, and which; null: it has none. */
  readonly clusterId: string | null;
  readonly tokenId: string | null;
  readonly facts: Facts;
  readonly remoteAddress: string;
}

/** Agents that wait for an administrator, and what was decided about them. */
export class EnrolmentRequests {
  /** A program may empty the queue as fast as agents without a token fill it. */
  readonly #adoptions = { requested: new RateLimitedEvents(QUEUEFUL), rejected: new RateLimitedEvents(QUEUEFUL) };

  constructor(private readonly runtime: Runtime) {}

  /** What was decided about this key; null if it never asked, or so long ago that it is forgotten. */
  async ofKey(spkiSha256: string): Promise<StoredEnrolmentRequest | null> {
    const request = await read(this.runtime, (manager) => findRequestByKey(manager, spkiSha256));
    if (!request || request.expiresAt <= this.runtime.now()) return null;
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

  /**
   * Puts an agent into the queue, at most until the given time, in a transaction of the caller's. A key that shows another token than
   * before asks anew. RATE_LIMITED if it is full.
   */
  async add(manager: EntityManager, asking: Asking, until?: Date): Promise<StoredEnrolmentRequest> {
    const now = this.runtime.now();
    await dropOldRequests(manager, now, new Date(now.getTime() - QUEUE.silenceMs));
    await takeRoom(manager, asking);
    const before = await findRequestByKey(manager, asking.spkiSha256);
    // It asked through another replica at this moment.
    if (before && (asking.tokenId === null || asking.tokenId === before.tokenId)) return before;
    if (before) await deleteRequest(manager, before.id);
    const request: StoredEnrolmentRequest = {
      ...asking,
      network: networkOf(asking.remoteAddress),
      id: crypto.randomUUID(),
      state: 'pending',
      generation: null,
      reason: null,
      createdAt: now,
      lastAskedAt: now,
      expiresAt: new Date(Math.min(now.getTime() + QUEUE.lifeMs, until?.getTime() ?? Infinity)),
      decidedAt: null,
    };
    // The same key asked through another replica at this moment: it is in the queue.
    if (!(await insertRequest(manager, request))) return request;
    const actor = { kind: 'unknown', id: '', address: asking.remoteAddress } as const;
    const suppressed = this.#adoptions.requested.take(request.clusterId);
    if (suppressed === null) return request;
    const event = { ...aboutRequest(request), actor, suppressed };
    await tell(this.runtime, manager, 'dev.fairlead.enrolment.requested.v1', event);
    return request;
  }

  /** Those with a token first, then newest first, as many as fit in an answer; `next` is the place to go on after. */
  async list(
    tenantId: string,
    { after, ...filter }: RequestFilter & { readonly after?: string | undefined } = {},
  ): Promise<{ requests: EnrolmentRequest[]; next?: string }> {
    const place = { after: after === undefined ? null : readEnrolmentPlace(after), now: this.runtime.now() };
    return read(this.runtime, async (manager) => {
      const rows = await listRequests(manager, tenantId, { ...filter, ...place }, PAGE_ROWS + 1);
      const ids = [...new Set(rows.flatMap(({ clusterId }) => clusterId ?? []))];
      const names = await clusterNames(manager, ids);
      const shown = rows.map((request) => showRequest(request, names.get(request.clusterId ?? '') ?? null));
      const requests = fitPage(shown.slice(0, PAGE_ROWS));
      const last = rows[requests.length - 1];
      if (!last || requests.length === rows.length) return { requests };
      const { id, tokenId, createdAt } = last;
      const next = enrolmentPlaceText({ invited: tokenId !== null, atMs: createdAt.getTime(), id });
      return { requests, next };
    });
  }

  /** The agent's next question is answered with a certificate. NOT_FOUND, CONFLICT, INVALID_ARGUMENT. */
  async approve(caller: Caller, tenantId: string, id: string, name?: string): Promise<EnrolmentRequest> {
    return commit(this.runtime, async (manager) => {
      const seen = this.#undecided(await findRequest(manager, id), tenantId);
      // The cluster first, as whoever ends an invitation does; what it looks like after that is what counts.
      const cluster = await this.#clusterFor(manager, seen, name);
      await lockToken(this.runtime, manager, seen);
      const request = this.#undecided(await lockRequest(manager, id), tenantId);
      const approved = await this.approveIn(manager, caller, request, cluster, false);
      return showRequest(approved, cluster.name);
    });
  }

  /** A new enrolment of the cluster, for this key; others that wait to be this cluster are rejected. In a transaction of the caller's. */
  async approveIn(
    manager: EntityManager,
    caller: Caller,
    request: StoredEnrolmentRequest,
    cluster: StoredCluster,
    insecure: boolean,
  ): Promise<StoredEnrolmentRequest> {
    const now = this.runtime.now();
    const generation = cluster.lastGeneration + 1;
    const { facts, spkiSha256, tokenId } = request;
    const expiresAt = new Date(now.getTime() + QUEUE.lifeMs);
    const change = { state: 'approved', clusterId: cluster.id, generation, decidedAt: now, expiresAt } as const;
    if (tokenId !== null) await bindBootstrapToken(manager, tokenId, spkiSha256, generation);
    await revokeUnusedTokens(manager, cluster.id, now);
    await changeRequest(manager, request.id, change);
    const why = 'another agent was approved as this cluster';
    await turnAway(this.runtime, manager, { clusterId: cluster.id }, { actor: actorOf(caller), why });
    await markEnrolled(manager, cluster, { generation, facts, enrolledAt: now });
    const event = { ...aboutRequest({ ...request, ...change }), clusterId: cluster.id, name: cluster.name };
    const actor = actorOf(caller);
    await tell(this.runtime, manager, 'dev.fairlead.enrolment.approved.v1', { ...event, actor, insecure });
    await tell(this.runtime, manager, 'dev.fairlead.enrolment.succeeded.v1', {
      tenantId: request.tenantId,
      clusterId: cluster.id,
      name: cluster.name,
      tokenId: ADOPTION,
      generation,
      spkiSha256,
      ...saidAtEnrolment(cluster.facts, facts),
      subject: `cluster/${cluster.id}`,
      actor: { kind: 'agent', id: cluster.id, address: request.remoteAddress },
      reason: 'OK',
    });
    return { ...request, ...change };
  }

  /** NOT_FOUND, CONFLICT. */
  async reject(caller: Caller, tenantId: string, id: string, reason: string): Promise<EnrolmentRequest> {
    return commit(this.runtime, async (manager) => {
      const request = this.#undecided(await lockRequest(manager, id), tenantId);
      // What an administrator decides is told always, and what a program does as often as it is told who asked.
      const rate = caller.role === this.runtime.source.role ? this.#adoptions.rejected : null;
      const rejected = await rejectIn(this.runtime, manager, request, { actor: actorOf(caller), why: reason, rate });
      const names = await clusterNames(manager, request.clusterId === null ? [] : [request.clusterId]);
      return showRequest(rejected, names.get(request.clusterId ?? '') ?? null);
    });
  }

  #undecided(request: StoredEnrolmentRequest | null, tenantId: string): StoredEnrolmentRequest {
    if (request?.tenantId !== tenantId || request.expiresAt <= this.runtime.now()) {
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
    if (!known) return insertCluster(manager, { tenantId, name, ...ADOPTED });
    const cluster = await lockCluster(manager, known.id);
    if (!cluster) throw new FairleadError('NOT_FOUND', `the cluster ${name} was deleted meanwhile`);
    return cluster;
  }

  async #approved({
    clusterId,
    generation,
  }: StoredEnrolmentRequest): Promise<{ cluster: StoredCluster; generation: number }> {
    const cluster = await read(this.runtime, (manager) => findCluster(manager, clusterId as string));
    if (!cluster) throw new FairleadError('NOT_FOUND', 'the cluster of this agent was deleted');
    if (cluster.generation === generation) return { cluster, generation };
    throw new FairleadError('TOKEN_REVOKED', 'the cluster has enrolled again since this agent was approved');
  }

  async #touch({ id, lastAskedAt }: StoredEnrolmentRequest): Promise<void> {
    const now = this.runtime.now();
    if (now.getTime() - lastAskedAt.getTime() < TOUCH_MS) return;
    await read(this.runtime, (manager) => changeRequest(manager, id, { lastAskedAt: now }));
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

/**
 * Keeps a place in the queue for the caller's transaction; nobody else is let in before that ends. RATE_LIMITED if it is full,
 * which costs nobody a turn.
 */
async function takeRoom(manager: EntityManager, asking: Asking): Promise<void> {
  await requireRoom(manager, asking);
  // Many may have seen the last place.
  await withAdvisoryLock(manager, `enrolment-queue:${asking.tenantId}`);
  await requireRoom(manager, asking);
  await dropDecided(manager, asking.tenantId, QUEUE.decidedPerTenant);
}

async function requireRoom(manager: EntityManager, { tenantId, tokenId, remoteAddress }: Asking): Promise<void> {
  const invited = tokenId !== null;
  const full = whyFull(await countPending(manager, tenantId, networkOf(remoteAddress), invited), invited);
  if (full !== null) throw new FairleadError('RATE_LIMITED', full);
}

/** As it is shown to an administrator; `cluster` is a name. */
function showRequest(request: StoredEnrolmentRequest, cluster: string | null): EnrolmentRequest {
  const { id, tenantId, state, spkiSha256, facts, remoteAddress, reason } = request;
  return {
    id,
    tenantId,
    state,
    fingerprint: spkiSha256,
    cluster,
    facts: knownFacts(facts),
    remoteAddress,
    createdAt: request.createdAt.toISOString(),
    lastAskedAt: request.lastAskedAt.toISOString(),
    expiresAt: request.expiresAt.toISOString(),
    decidedAt: request.decidedAt?.toISOString() ?? null,
    reason,
  };
}
