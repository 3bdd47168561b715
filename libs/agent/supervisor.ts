import { SignedTime } from '@fairlead/access-statement/signed-time';
import { systemClock, type Clock } from '@fairlead/clock';
import { toFairleadError, type FairleadError } from '@fairlead/errors';
import type { Check } from '@fairlead/observability';
import { randomUUID } from 'node:crypto';
import { Link, type GatewayConnection } from '@fairlead/tunnel/agent';
import type { LinkFigures } from './agent-metrics.js';
import { AgentRevocations } from './agent-revocations.js';
import { AgentStatements } from './agent-statements.js';
import { AgentTrust } from './agent-trust.js';
import { ClockSkew } from './clock-skew.js';
import { feedOf, type FactsFeed } from './facts/feed.js';
import { withRequiredStatements } from './facts/required-statements.js';
import { findBetter } from './better-endpoint.js';
import { nameOf } from './endpoint-choice.js';
import { FollowedEndpoints } from './followed-endpoints.js';
import { connectToGateway } from './gateway-connection.js';
import type { Endpoint } from './forward-proxy.js';
import { HeldIdentity } from './held-identity.js';
import { abortedBy, isMade, missOf, type LeftLink, type Lived, type MadeLink, type SlotContext } from './link-slot.js';
import { hasEnded, renewInTime } from './renewal.js';
import { lifeOf } from './renewal-plan.js';
import type { SupervisorOptions } from './supervisor-options.js';
import { StandingConnections, unlessRevoked } from './standing-connections.js';
import { UntrustedEndpoints } from './untrusted-endpoints.js';
import { Replicas } from './replicas.js';
import { BRIEF_MS, SlotPace, outcomeOf, type LinkOutcome } from './retry-pace.js';

/** However long a replica would wait to be left. */
const MAX_DRAIN_MS = 60_000;
/** By then replicas have told each other, and what was on its way here has come and was sent elsewhere. */
const LEAST_LEAVE_MS = 300;

/** Keeps an agent linked to as many distinct replicas as asked for, for as long as it lives. */
export class LinkSupervisor {
  readonly #options: SupervisorOptions;
  readonly #clock: Clock;
  readonly #agentInstance = randomUUID();
  readonly #links = new Map<string, Link>();
  readonly #endpoints: FollowedEndpoints;
  readonly #identity: HeldIdentity;
  readonly #trust: AgentTrust;
  readonly #statements: AgentStatements;
  readonly #revocations: AgentRevocations;
  readonly #untrusted: UntrustedEndpoints;
  readonly #clockSkew: ClockSkew;
  readonly #facts: FactsFeed;
  readonly #standing = new StandingConnections();
  readonly #replicas = new Replicas();
  /** Ends the pauses between dials. */
  #renewed = new AbortController();
  /** Of each link to keep. */
  readonly #paces: readonly SlotPace[];
  /** Links that were left, whose tunnels are not done. */
  readonly #finishing = new Set<Link>();
  #leaving = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#paces = Array.from({ length: options.links }, () => new SlotPace());
    this.#clock = options.clock ?? systemClock;
    this.#identity = new HeldIdentity(options.identity, options.store);
    this.#identity.onChange(() => {
      options.gitops?.identityChanged(this.#identity.current);
      this.#standing.endRevoked(this.#identity.current);
      this.#tryAnew();
    });
    this.#trust = new AgentTrust(this.#identity, options.logger, this.#clock);
    const { time = new SignedTime(() => this.#clock.nowMs()), requireStatements: required = false, logger } = options;
    const judging = { identity: this.#identity, time, logger };
    this.#revocations = new AgentRevocations({ ...judging, clock: this.#clock });
    this.#statements = new AgentStatements({ ...judging, required, revocations: this.#revocations });
    this.#endpoints = new FollowedEndpoints(this.#identity, options.endpoints, options.region, this.#clock);
    this.#untrusted = new UntrustedEndpoints(() => this.#endpoints.choice.size, options.logger);
    this.#clockSkew = new ClockSkew(options.logger, this.#clock);
    this.#facts = withRequiredStatements(feedOf(options.facts), this.#statements);
    void this.#facts.current().then(({ region }) => this.#endpoints.locate(region));
  }

  /** Runs until the signal; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const aborted = new Promise<null>((resolve) => {
      if (signal.aborted) resolve(null);
      else signal.addEventListener('abort', () => resolve(null), { once: true });
    });
    void aborted.then(() => this.#identity.release());
    void aborted.then(
      this.#facts.onChange((facts) => {
        this.#links.forEach((link) => link.tellFacts(facts));
        this.#endpoints.locate(facts.region);
      }),
    );
    const slots = this.#paces.map((pace, slot) =>
      this.#keepOne({ slot, pace, signal, aborted, onLinked: () => undefined, crowd: 0, next: null }),
    );
    const renewal = {
      logger: this.#options.logger,
      clock: this.#clock,
      identity: this.#identity,
      dial: () => this.#dialAny(signal),
    };
    await Promise.all([...slots, renewInTime(renewal, signal)]);
  }

  /**
   * Tells every replica that nothing new is to come here, and waits until what runs is done, or this time is over. The signal of `run` then
   * ends the links.
   */
  async leave(withinMs: number): Promise<void> {
    this.#leaving = true;
    const links = [...this.#links.values(), ...this.#finishing];
    if (links.length === 0) return;
    const beganMs = this.#clock.monotonicMs();
    for (const link of links) link.leave();
    const passedMs = (): number => this.#clock.monotonicMs() - beganMs;
    const isBusy = (): boolean => links.some(({ inUse }) => inUse > 0) || passedMs() < LEAST_LEAVE_MS;
    // Idle ones count: an agent that ended them would cut off what is on its way to them. Doors end theirs, or ask once more.
    while (isBusy() && passedMs() < withinMs) await this.#clock.sleep(50);
    const cut = links.reduce((sum, { inUse }) => sum + inUse, 0);
    this.#options.logger.info('agent.left', { tunnelsCut: cut, afterMs: Math.round(passedMs()) });
  }

  /** Who was refused for an identity that had ended need not wait any longer. */
  #tryAnew(): void {
    if (this.#links.size > 0) return;
    this.#renewed.abort();
    this.#renewed = new AbortController();
  }

  readiness(): readonly Check[] {
    const { links } = this.#options;
    const detail = `${this.#links.size} of ${links} links${this.#paces.some(({ degraded }) => degraded) ? '; degraded: every dial reaches the same replica' : ''}${this.#untrusted.only ? '; no gateway proves itself to the roots held here' : ''}`;
    return [{ name: 'links', ok: this.#links.size > 0 && !this.#leaving, detail: this.#leaving ? 'ending' : detail }];
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
    const { signal, pace } = context;
    while (!signal.aborted && !this.#leaving) {
      const { more } = this.#replicas;
      const outcome = await this.#linkOnce(context, pace.attempt);
      if (signal.aborted || this.#leaving) return;
      const waitMs = pace.ended(outcome, { otherLinks: this.#links.size, crowd: context.crowd });
      // Leaving a replica that drains is make-before-break: the next link is made at once, the old one still serves.
      if (outcome === 'drained') continue;
      this.#options.logger.debug('link.waiting', { outcome, waitMs: Math.round(waitMs) });
      const over = [signal, this.#renewed.signal];
      if (outcome !== 'same-replica') await this.#pause(waitMs, over);
      else {
        await this.#pause(waitMs, [...over, more]);
        // All agents of a replica hear at the same time that another one came.
        if (more.aborted) await this.#pause(pace.anew(this.#crowd), over);
      }
    }
  }

  #pause(ms: number, over: readonly AbortSignal[]): Promise<void> {
    return this.#clock.sleep(ms, AbortSignal.any([...over])).catch(() => undefined);
  }

  /** Links of the largest of its replicas. */
  get #crowd(): number {
    return Math.max(0, ...[...this.#links.values()].map(({ crowd }) => crowd));
  }

  async #linkOnce(context: SlotContext, attempt: number): Promise<LinkOutcome> {
    const { next } = context;
    context.next = null;
    const endpoint = next?.endpoint ?? this.#endpoints.choice.pick();
    try {
      const made = next ?? (await this.#make(endpoint, context));
      if (!made) {
        this.#endpoints.choice.avoid(endpoint, 'same-replica');
        return 'same-replica';
      }
      using resources = made.resources;
      const outcome = await this.#live(made, context);
      const miss = missOf(outcome, context);
      if (miss) this.#endpoints.choice.avoid(endpoint, miss);
      if (outcome.kind === 'drained') void this.#finish(outcome.left, context, resources.move());
      return outcome.kind;
    } catch (error) {
      this.#endpoints.choice.avoid(endpoint, 'failed');
      return this.#logFailure(nameOf(endpoint), attempt, toFairleadError(error));
    }
  }

  /** From the dial to Welcome. Null: it reaches a replica that is linked already, by another link than this one, or nobody wants it any more. */
  async #make(endpoint: Endpoint, context: SlotContext, instead?: Link): Promise<MadeLink | null> {
    using resources = new DisposableStack();
    resources.defer(this.#endpoints.choice.occupy(endpoint));
    const connection = resources.use(await this.#dial(endpoint, context.signal));
    resources.use(this.#standing.add(connection));
    const drain = Promise.withResolvers<number>();
    const link = await this.#establish(connection, context, drain.resolve);
    const other = this.#links.get(link.welcome.gatewayInstance);
    // The others have been told by then that we end: nobody would tell this one, or wait for what comes by it.
    if (this.#leaving || (other && other !== instead)) return null;
    return { endpoint, link, drained: drain.promise, resources: resources.move() };
  }

  /** From Welcome until the link ends, its replica drains, a better one takes its place, or we stop. */
  async #live({ endpoint, link, drained }: MadeLink, context: SlotContext): Promise<Lived> {
    const { logger, gitops } = this.#options;
    const { gatewayInstance, gatewayId } = link.welcome;
    if (this.#leaving || this.#links.has(gatewayInstance)) return { kind: 'same-replica' };
    this.#links.set(gatewayInstance, link);
    context.pace.linked();
    link.begin();
    gitops?.linked(link);
    // They may have changed between its Hello and now.
    link.tellFacts(await this.#facts.current());
    context.onLinked();
    this.#untrusted.linked();
    logger.info('link.established', { gateway: gatewayId, endpoint: nameOf(endpoint), links: this.#links.size });
    const beganMs = this.#clock.monotonicMs();
    const over = new AbortController();
    void this.#endpoints.worked(endpoint, over.signal);
    const better = this.#findBetter(endpoint, link, context, over.signal);
    const cause = await Promise.race([link.ended, drained, context.aborted, better]);
    over.abort();
    this.#links.delete(gatewayInstance);
    gitops?.unlinked(link);
    context.crowd = link.crowd;
    // One that stands only now is wanted by nobody any more.
    void better.then((made) => made !== cause && made?.resources.dispose());
    if (context.signal.aborted || cause === null) {
      if (isMade(cause)) cause.resources.dispose();
      return { kind: 'lived' };
    }
    return this.#ended(cause, link, context, { endpoint: nameOf(endpoint), beganMs });
  }

  #ended(
    cause: FairleadError | number | MadeLink,
    link: Link,
    context: SlotContext,
    { endpoint, beganMs }: { readonly endpoint: string; readonly beganMs: number },
  ): Lived {
    const { logger } = this.#options;
    const gateway = link.welcome.gatewayId;
    if (isMade(cause)) {
      logger.info('link.moving', { gateway, endpoint, to: nameOf(cause.endpoint) });
      context.next = cause;
      return { kind: 'drained', left: { link, deadlineMs: MAX_DRAIN_MS, isMoved: true } };
    }
    if (typeof cause === 'number') {
      logger.info('link.draining', { gateway, endpoint, deadlineMs: cause });
      return { kind: 'drained', left: { link, deadlineMs: cause, isMoved: false } };
    }
    logger.warn('link.lost', { gateway, endpoint, code: cause.code, reason: cause.message });
    return { kind: this.#clock.monotonicMs() - beganMs < BRIEF_MS ? 'brief' : 'lived' };
  }

  /** A link to take the place of this one, which stands at a better endpoint; null when this one is over. */
  #findBetter(endpoint: Endpoint, link: Link, context: SlotContext, over: AbortSignal): Promise<MadeLink | null> {
    const { choice, changed } = this.#endpoints;
    const make = async (candidate: Endpoint): Promise<MadeLink | null> => {
      try {
        const made = await this.#make(candidate, context, link);
        if (!made) choice.avoid(candidate, 'same-replica');
        return made;
      } catch (error) {
        choice.avoid(candidate, 'failed');
        const { code, message } = toFairleadError(error);
        const to = nameOf(candidate);
        this.#options.logger.warn('link.not_moved', { endpoint: nameOf(endpoint), to, code, reason: message });
        return null;
      }
    };
    return findBetter({ endpoint, choice, changed, make, crowd: () => link.crowd, clock: this.#clock, over });
  }

  /** Keeps a draining link until the next one stands, or the replica waits no longer, and until its tunnels are done. */
  async #finish(
    { link, deadlineMs, isMoved }: LeftLink,
    context: SlotContext,
    resources: DisposableStack,
  ): Promise<void> {
    const over = AbortSignal.any([context.signal, abortedBy(link.ended)]);
    this.#finishing.add(link);
    const next = Promise.withResolvers<void>();
    context.onLinked = next.resolve;
    await Promise.race([
      next.promise,
      this.#clock.sleep(Math.min(deadlineMs, MAX_DRAIN_MS), over).catch(() => undefined),
    ]);
    if (isMoved) {
      await this.#clock.sleep(LEAST_LEAVE_MS, over).catch(() => undefined);
      link.leave();
    }
    while (link.inUse > 0 && !over.aborted) await this.#clock.sleep(100, over).catch(() => undefined);
    this.#finishing.delete(link);
    resources.dispose();
  }

  #logFailure(endpoint: string, attempt: number, failure: FairleadError): LinkOutcome {
    const outcome = outcomeOf(failure);
    const refused = outcome === 'refused' || failure.code === 'UNTRUSTED_PEER';
    const level = refused ? 'error' : 'warn';
    if (refused && this.#links.size === 0) this.#refused();
    this.#options.logger.log(level, 'link.failed', { endpoint, attempt, code: failure.code, reason: failure.message });
    return this.#untrusted.met(failure, this.#links.size, this.#trust.version) ? 'refused' : outcome;
  }

  /** Another pod may have renewed what a gateway will not have any more. */
  #refused(): void {
    this.#options.onRefused?.();
    this.#identity.takeUp().catch((error: unknown) => {
      const { code, message } = toFairleadError(error);
      this.#options.logger.debug('agent.identity.not_taken_up', { code, reason: message });
    });
  }

  /** For a call without a link. */
  async #dialAny(signal: AbortSignal): Promise<GatewayConnection> {
    const endpoint = this.#endpoints.choice.pick();
    try {
      return await this.#dial(endpoint, signal);
    } catch (error) {
      this.#endpoints.choice.avoid(endpoint, 'failed');
      throw error;
    }
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
        statements: this.#statements,
        revocations: this.#revocations,
        tcp,
        logger,
        clusterId,
        generation,
        onGatewayTime: (gatewayMs) => this.#clockSkew.saw(gatewayMs),
        onReplicas: (count) => this.#replicas.heard(count),
      },
      onDrain,
    );
  }
}
