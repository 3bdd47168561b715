import { systemClock, type Clock } from '@fairlead/clock';
import { toFairleadError, type FairleadError } from '@fairlead/errors';
import type { Check, Logger } from '@fairlead/observability';
import { randomUUID } from 'node:crypto';
import { Link, type GatewayConnection, type KubeApiEnd, type TcpTunnelOptions } from '@fairlead/tunnel/agent';
import type { LinkFigures } from './agent-metrics.js';
import type { AgentIdentity, IdentityStore } from './agent-identity.js';
import { AgentTrust } from './agent-trust.js';
import { ClockSkew } from './clock-skew.js';
import { feedOf, type FactsFeed, type FactsSource } from './facts/feed.js';
import { EndpointChoice, nameOf } from './endpoint-choice.js';
import { connectToGateway } from './gateway-connection.js';
import type { Endpoint, ProxySettings } from './forward-proxy.js';
import type { GitOpsCarrier } from './gitops/gitops-carrier.js';
import { HeldIdentity } from './held-identity.js';
import { abortedBy, type LeftLink, type Lived, type SlotContext } from './link-slot.js';
import { hasEnded, renewInTime } from './renewal.js';
import { lifeOf } from './renewal-plan.js';
import { StandingConnections, unlessRevoked } from './standing-connections.js';
import { UntrustedEndpoints } from './untrusted-endpoints.js';
import { BRIEF_MS, SAME_REPLICA_DIALS, Tries, outcomeOf, pauseMs, stood, type LinkOutcome } from './retry-pace.js';

export interface SupervisorOptions {
  readonly identity: AgentIdentity;
  readonly store: IdentityStore;
  readonly endpoints: readonly Endpoint[];
  readonly proxy: ProxySettings;
  /** Links to keep, each to another replica. */
  readonly links: number;
  readonly facts: FactsSource;
  readonly kubeApi: KubeApiEnd;
  readonly tcp: TcpTunnelOptions;
  /** Absent: it carries nothing. */
  readonly gitops?: GitOpsCarrier | undefined;
  readonly logger: Logger;
  /** Called when a gateway will not have this identity, or is not of its installation, while no link stands. */
  readonly onRefused?: () => void;
  readonly clock?: Clock;
}

/** However long a replica would wait to be left. */
const MAX_DRAIN_MS = 60_000;

/** Keeps an agent linked to as many distinct replicas as asked for, for as long as it lives. */
export class LinkSupervisor {
  readonly #options: SupervisorOptions;
  readonly #clock: Clock;
  readonly #agentInstance = randomUUID();
  readonly #links = new Map<string, Link>();
  readonly #endpoints: EndpointChoice;
  readonly #identity: HeldIdentity;
  readonly #trust: AgentTrust;
  readonly #strangers: UntrustedEndpoints;
  readonly #clockSkew: ClockSkew;
  readonly #facts: FactsFeed;
  readonly #standing = new StandingConnections();
  /** Ends the pauses between dials. */
  #renewed = new AbortController();
  /** Slots whose dials all reach replicas that are linked already. */
  readonly #degraded = new Set<number>();

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#identity = new HeldIdentity(options.identity, options.store);
    this.#identity.onChange(() => {
      options.gitops?.identityChanged(this.#identity.current);
      this.#standing.endRevoked(this.#identity.current);
      this.#tryAnew();
    });
    this.#trust = new AgentTrust(this.#identity, options.logger, this.#clock);
    this.#strangers = new UntrustedEndpoints(options.endpoints.length, options.logger);
    this.#endpoints = new EndpointChoice(options.endpoints, this.#clock);
    this.#clockSkew = new ClockSkew(options.logger, this.#clock);
    this.#facts = feedOf(options.facts);
  }

  /** Runs until the signal; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const aborted = new Promise<null>((resolve) => {
      if (signal.aborted) resolve(null);
      else signal.addEventListener('abort', () => resolve(null), { once: true });
    });
    void aborted.then(() => this.#identity.release());
    void aborted.then(this.#facts.onChange((facts) => this.#links.forEach((link) => link.tellFacts(facts))));
    const slots = Array.from({ length: this.#options.links }, (_, slot) =>
      this.#keepOne({ slot, signal, aborted, onLinked: () => undefined, crowd: 0 }),
    );
    const renewal = {
      logger: this.#options.logger,
      clock: this.#clock,
      identity: this.#identity,
      dial: () => this.#dial(this.#endpoints.pick(), signal),
    };
    await Promise.all([...slots, renewInTime(renewal, signal)]);
  }

  /** Who was refused for an identity that had ended need not wait any longer. */
  #tryAnew(): void {
    if (this.#links.size > 0) return;
    this.#renewed.abort();
    this.#renewed = new AbortController();
  }

  readiness(): readonly Check[] {
    const { links } = this.#options;
    const detail = `${this.#links.size} of ${links} links${this.#degraded.size > 0 ? '; degraded: every dial reaches the same replica' : ''}${this.#strangers.only ? '; no gateway proves itself to the roots held here' : ''}`;
    return [{ name: 'links', ok: this.#links.size > 0, detail }];
  }

  /** Links whose replicas carry connections out of the cluster now, the least busy one first. */
  get egressLinks(): readonly Link[] {
    return [...this.#links.values()].filter(({ takesEgress }) => takesEgress).sort((a, b) => a.inUse - b.inUse);
  }

  get figures(): LinkFigures {
    const links = [...this.#links.values()];
    const sum = (of: (link: Link) => number): number => links.reduce((total, link) => total + of(link), 0);
    return { links: links.length, parked: sum(({ parked }) => parked), inUse: sum(({ inUse }) => inUse) };
  }

  /** Milliseconds since the epoch. */
  get certificateEndMs(): number {
    return lifeOf(this.#identity.current).endMs;
  }

  async #keepOne(context: SlotContext): Promise<void> {
    const { signal } = context;
    let sameReplica = 0;
    const tries = new Tries();
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      const outcome = await this.#linkOnce(context, attempt);
      if (signal.aborted) return;
      const before = tries.count(outcome);
      if (stood(outcome)) attempt = -1;
      sameReplica = outcome === 'same-replica' ? sameReplica + 1 : 0;
      const degraded = sameReplica >= SAME_REPLICA_DIALS;
      if (degraded) this.#degraded.add(context.slot);
      else this.#degraded.delete(context.slot);
      // Leaving a replica that drains is make-before-break: the next link is made at once, the old one still serves.
      if (outcome === 'drained') continue;
      const waitMs = pauseMs({ outcome, before, degraded, otherLinks: this.#links.size, crowd: context.crowd });
      this.#options.logger.debug('link.waiting', { outcome, waitMs: Math.round(waitMs) });
      await this.#clock.sleep(waitMs, AbortSignal.any([signal, this.#renewed.signal])).catch(() => undefined);
    }
  }

  async #linkOnce(context: SlotContext, attempt: number): Promise<LinkOutcome> {
    const endpoint = this.#endpoints.pick();
    const name = nameOf(endpoint);
    using resources = new DisposableStack();
    resources.defer(this.#endpoints.occupy(endpoint));
    try {
      const connection = resources.use(await this.#dial(endpoint, context.signal));
      resources.use(this.#standing.add(connection));
      const outcome = await this.#live(connection, context, name);
      if (outcome.kind !== 'lived') this.#endpoints.avoid(endpoint);
      if (outcome.kind === 'drained') void this.#finish(outcome.left, context, resources.move());
      return outcome.kind;
    } catch (error) {
      this.#endpoints.avoid(endpoint);
      return this.#logFailure(name, attempt, toFairleadError(error));
    }
  }

  /** From Hello until the link ends, its replica drains, or we stop. */
  async #live(connection: GatewayConnection, context: SlotContext, endpoint: string): Promise<Lived> {
    const { logger } = this.#options;
    const drain = Promise.withResolvers<number>();
    const link = await this.#establish(connection, context, drain.resolve);
    const { gatewayInstance, gatewayId } = link.welcome;
    if (this.#links.has(gatewayInstance)) return { kind: 'same-replica' };
    this.#links.set(gatewayInstance, link);
    link.begin();
    this.#options.gitops?.linked(link);
    // They may have changed between its Hello and now.
    link.tellFacts(await this.#facts.current());
    context.onLinked();
    this.#strangers.linked();
    logger.info('link.established', { gateway: gatewayId, endpoint, links: this.#links.size });
    const beganMs = this.#clock.monotonicMs();
    const cause = await Promise.race([link.ended, drain.promise, context.aborted]);
    this.#links.delete(gatewayInstance);
    this.#options.gitops?.unlinked(link);
    context.crowd = link.crowd;
    if (context.signal.aborted || cause === null) return { kind: 'lived' };
    if (typeof cause === 'number') {
      logger.info('link.draining', { gateway: gatewayId, endpoint, deadlineMs: cause });
      return { kind: 'drained', left: { link, deadlineMs: cause } };
    }
    logger.warn('link.lost', { gateway: gatewayId, endpoint, code: cause.code, reason: cause.message });
    return { kind: this.#clock.monotonicMs() - beganMs < BRIEF_MS ? 'brief' : 'lived' };
  }

  /** Keeps a draining link until the next one stands, or the replica waits no longer, and until its tunnels are done. */
  async #finish({ link, deadlineMs }: LeftLink, context: SlotContext, resources: DisposableStack): Promise<void> {
    const over = AbortSignal.any([context.signal, abortedBy(link.ended)]);
    const next = Promise.withResolvers<void>();
    context.onLinked = next.resolve;
    await Promise.race([
      next.promise,
      this.#clock.sleep(Math.min(deadlineMs, MAX_DRAIN_MS), over).catch(() => undefined),
    ]);
    while (link.inUse > 0 && !over.aborted) await this.#clock.sleep(100, over).catch(() => undefined);
    resources.dispose();
  }

  #logFailure(endpoint: string, attempt: number, failure: FairleadError): LinkOutcome {
    const outcome = outcomeOf(failure);
    const refused = outcome === 'refused' || failure.code === 'UNTRUSTED_PEER';
    const level = refused ? 'error' : 'warn';
    if (refused && this.#links.size === 0) this.#options.onRefused?.();
    this.#options.logger.log(level, 'link.failed', { endpoint, attempt, code: failure.code, reason: failure.message });
    return this.#strangers.met(failure, this.#links.size, this.#trust.version) ? 'refused' : outcome;
  }

  async #dial(endpoint: Endpoint, signal: AbortSignal): Promise<GatewayConnection> {
    const { proxy } = this.#options;
    const identity = this.#identity.current;
    const { rootsPem, trustDomain } = identity;
    const connection = await connectToGateway({
      endpoint,
      proxy,
      signal,
      // Without one, nothing but Renew is served.
      ...(hasEnded(identity, this.#clock.nowMs()) ? {} : { identity }),
      trust: { kind: 'roots', rootsPem, trustDomain, revoked: identity },
    });
    // What was revoked meanwhile is not in the list that it was checked by, and it is not among those that stand yet.
    return unlessRevoked(connection, this.#identity.current);
  }

  async #establish(connection: GatewayConnection, context: SlotContext, onDrain: (ms: number) => void): Promise<Link> {
    const { slot, signal } = context;
    const { clusterId, generation } = this.#identity.current;
    const { kubeApi, tcp, gitops, logger } = this.#options;
    const facts = await this.#facts.current();
    return Link.establish(
      {
        connection,
        agentInstance: this.#agentInstance,
        slot,
        signal,
        facts,
        trust: this.#trust,
        desired: gitops?.desired,
        kubeApi,
        tcp,
        logger,
        clusterId,
        generation,
        onGatewayTime: (gatewayMs) => this.#clockSkew.saw(gatewayMs),
      },
      onDrain,
    );
  }
}
