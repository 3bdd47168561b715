import type { Breaker, Caller } from '@fairlead/contracts';
import type { Actor } from '@fairlead/events';
import type { EntityManager } from 'typeorm';
import { holdsRepairs, resetBreaker, stepBreaker, type BreakerLimits, type BreakerState } from '../domain/breaker.js';
import { lockBreaker, observeProblems, readBreaker, saveBreaker, tenantsAtWork } from '../store/breaker-store.js';
import { touchClusters } from '../store/cluster-store.js';
import { OneByOne } from './one-by-one.js';
import { actorOf, commit, operatorOf, read, tell, type Runtime } from './runtime.js';

/** Holds rollouts, and for a while repairs, when many clusters come to fail alike. */
export class FleetBreaker {
  readonly #each: OneByOne;

  constructor(
    private readonly runtime: Runtime,
    private readonly limits: BreakerLimits,
    private readonly silenceMs: number,
  ) {
    this.#each = new OneByOne(runtime, 'breaker');
  }

  async get(tenantId: string): Promise<Breaker> {
    return show((await read(this.runtime, (manager) => readBreaker(manager, tenantId))).breaker);
  }

  /** Closes it; what clusters have now does not open it again. */
  async reset(caller: Caller, tenantId: string, actor: string): Promise<Breaker> {
    return commit(this.runtime, async (manager) => {
      const before = await lockBreaker(manager, tenantId);
      const breaker = resetBreaker(this.runtime.now().getTime());
      await this.#change(manager, before, breaker, operatorOf(caller, actor));
      return show(breaker);
    });
  }

  /** Observes the fleet of each tenant, each apart from the others. What it finds is acted on at once. */
  async reconcileOnce(): Promise<false> {
    const tenants = await read(this.runtime, tenantsAtWork);
    await this.#each.each(
      tenants,
      (tenantId) => tenantId,
      (tenantId) => this.#observe(tenantId),
    );
    return false;
  }

  #observe(tenantId: string): Promise<false> {
    return commit<false>(this.runtime, async (manager) => {
      const before = await lockBreaker(manager, tenantId);
      const nowMs = this.runtime.now().getTime();
      const freshAfter = new Date(Math.max(nowMs - this.limits.windowMs, before.breaker.resetAtMs));
      const heardAfter = new Date(nowMs - this.silenceMs);
      const observation = await observeProblems(manager, tenantId, { heardAfter, freshAfter });
      const breaker = stepBreaker(before.breaker, observation, nowMs, this.limits);
      await this.#change(manager, before, breaker, actorOf(this.runtime.source));
      return false;
    });
  }

  async #change(
    manager: EntityManager,
    { tenantId, breaker: before, heldRepairs }: { tenantId: string; breaker: BreakerState; heldRepairs: boolean },
    breaker: BreakerState,
    actor: Actor,
  ): Promise<void> {
    const now = this.runtime.now();
    const holds = holdsRepairs(breaker, now.getTime(), this.limits);
    if (breaker === before && holds === heldRepairs) return;
    await saveBreaker(manager, tenantId, { breaker, heldRepairs: holds });
    if (holds !== heldRepairs) await touchClusters(manager, { tenantId }, now);
    if (breaker.state === before.state) return;
    const { state, code, clusters, of } = breaker.state === 'open' ? breaker : { ...before, state: breaker.state };
    this.runtime.logger.warn(`breaker.${state}`, { tenantId, problem: code, clusters, of });
    const about = { tenantId, subject: 'breaker', actor, reason: 'OK' };
    await tell(this.runtime, manager, 'dev.fairlead.breaker.changed.v1', {
      ...about,
      state,
      code,
      clusters,
      of,
    });
  }
}

function show({ state, code, clusters, of, sinceMs }: BreakerState): Breaker {
  return { state, code, clusters, of, since: sinceMs === null ? null : new Date(sinceMs).toISOString() };
}
