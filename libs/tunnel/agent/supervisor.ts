import { fullJitterMs, systemClock, type Clock } from '@fairlead/clock';
import { FairleadError, toFairleadError, type ErrorCode } from '@fairlead/errors';
import type { Check, Logger } from '@fairlead/observability';
import { X509Certificate, randomUUID } from 'node:crypto';
import type { LinkFigures } from './agent-metrics.js';
import type { AgentIdentity, IdentityStore } from './agent-identity.js';
import { renew, type AgentFacts } from './enrol.js';
import { connectToGateway, type GatewayConnection } from './gateway-connection.js';
import type { Endpoint, ProxySettings } from './forward-proxy.js';
import type { KubeApiProxy } from './kube-api-proxy.js';
import type { TcpTunnelOptions } from './tcp-tunnel.js';
import { Link } from './link.js';

export interface SupervisorOptions {
  readonly identity: AgentIdentity;
  readonly store: IdentityStore;
  readonly endpoints: readonly Endpoint[];
  readonly proxy: ProxySettings;
  /** Links to keep, each to another replica. */
  readonly links: number;
  readonly facts: AgentFacts;
  readonly kubeApi: KubeApiProxy;
  readonly tcp: TcpTunnelOptions;
  readonly logger: Logger;
  /** Called when a gateway will not have this identity, or is not of its installation, while no link stands. */
  readonly onRefused?: () => void;
  readonly clock?: Clock;
}

const RETRY = { baseMs: 250, capMs: 20_000 };
/** After a refusal that only a person can lift, or when every dial reaches a replica that is linked already. */
const SLOW_RETRY_MS = 60_000;
const PERMANENT: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'CERTIFICATE_REFUSED',
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'INVALID_ARGUMENT',
  'WRONG_CLUSTER',
]);
/** Dials that may reach an already linked replica before the agent calls itself degraded. */
const SAME_REPLICA_DIALS = 6;

/** One of the links to keep. */
interface SlotContext {
  readonly slot: number;
  readonly signal: AbortSignal;
  /** Resolves when the signal is aborted; one promise for all waits, so that they leave no listeners behind. */
  readonly aborted: Promise<null>;
}

type Lived = { readonly kind: 'lived' | 'same-replica' } | { readonly kind: 'drained'; readonly link: Link };
type LinkOutcome = Lived['kind'] | 'failed' | 'refused';

/** Keeps an agent linked to as many distinct replicas as asked for, for as long as it lives. */
export class LinkSupervisor {
  readonly #options: SupervisorOptions;
  readonly #clock: Clock;
  readonly #agentInstance = randomUUID();
  readonly #links = new Map<string, Link>();
  readonly #dialling = new Map<string, number>();
  #identity: AgentIdentity;
  /** Slots whose dials all reach replicas that are linked already. */
  readonly #degraded = new Set<number>();
  /** When an endpoint last failed us or drained, monotonic milliseconds. */
  readonly #troubled = new Map<string, number>();

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#identity = options.identity;
    this.#clock = options.clock ?? systemClock;
  }

  /** Runs until the signal; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const aborted = new Promise<null>((resolve) => {
      if (signal.aborted) resolve(null);
      else signal.addEventListener('abort', () => resolve(null), { once: true });
    });
    const slots = Array.from({ length: this.#options.links }, (_, slot) => this.#keepOne({ slot, signal, aborted }));
    await Promise.all([...slots, this.#renewInTime(signal)]);
  }

  readiness(): readonly Check[] {
    const { links } = this.#options;
    const detail = `${this.#links.size} of ${links} links${this.#degraded.size > 0 ? '; degraded: every dial reaches the same replica' : ''}`;
    return [{ name: 'links', ok: this.#links.size > 0, detail }];
  }

  get figures(): LinkFigures {
    const links = [...this.#links.values()];
    const sum = (of: (link: Link) => number): number => links.reduce((total, link) => total + of(link), 0);
    return { links: links.length, parked: sum(({ parked }) => parked), inUse: sum(({ inUse }) => inUse) };
  }

  async #keepOne(context: SlotContext): Promise<void> {
    const { signal } = context;
    let sameReplica = 0;
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      const outcome = await this.#linkOnce(context, attempt);
      if (signal.aborted) return;
      if (outcome === 'lived' || outcome === 'drained') attempt = -1;
      sameReplica = outcome === 'same-replica' ? sameReplica + 1 : 0;
      const degraded = sameReplica >= SAME_REPLICA_DIALS;
      if (degraded) this.#degraded.add(context.slot);
      else this.#degraded.delete(context.slot);
      // Leaving a replica that drains is make-before-break: the next link is made at once, the old one still serves.
      if (outcome === 'drained') continue;
      const slow = outcome === 'refused' || degraded;
      const waitMs = slow ? SLOW_RETRY_MS * (0.5 + Math.random()) : fullJitterMs(attempt + 1, RETRY);
      await this.#clock.sleep(waitMs, signal).catch(() => undefined);
    }
  }

  async #linkOnce(context: SlotContext, attempt: number): Promise<LinkOutcome> {
    const endpoint = this.#pickEndpoint();
    const name = `${endpoint.host}:${endpoint.port}`;
    using resources = new DisposableStack();
    resources.defer(this.#occupy(name));
    try {
      const connection = resources.use(await this.#dial(endpoint, context.signal));
      const outcome = await this.#live(connection, context, name);
      if (outcome.kind !== 'lived') this.#troubled.set(name, this.#clock.monotonicMs());
      if (outcome.kind === 'drained') void this.#finish(outcome.link, context, resources.move());
      return outcome.kind;
    } catch (error) {
      this.#troubled.set(name, this.#clock.monotonicMs());
      return this.#logFailure(name, attempt, toFairleadError(error));
    }
  }

  /** Counts an endpoint as used, until the returned function is called. */
  #occupy(endpoint: string): () => void {
    this.#dialling.set(endpoint, (this.#dialling.get(endpoint) ?? 0) + 1);
    return () => void this.#dialling.set(endpoint, (this.#dialling.get(endpoint) ?? 1) - 1);
  }

  /** From Hello until the link ends, its replica drains, or we stop. */
  async #live(connection: GatewayConnection, context: SlotContext, endpoint: string): Promise<Lived> {
    const { logger } = this.#options;
    const drain = Promise.withResolvers<null>();
    const link = await this.#establish(connection, context.slot, () => drain.resolve(null));
    const { gatewayInstance, gatewayId } = link.welcome;
    if (this.#links.has(gatewayInstance)) return { kind: 'same-replica' };
    this.#links.set(gatewayInstance, link);
    link.begin();
    logger.info('link.established', { gateway: gatewayId, endpoint, links: this.#links.size });
    const cause = await Promise.race([link.ended, drain.promise, context.aborted]);
    this.#links.delete(gatewayInstance);
    if (context.signal.aborted) return { kind: 'lived' };
    if (cause === null) {
      logger.info('link.draining', { gateway: gatewayId, endpoint });
      return { kind: 'drained', link };
    }
    logger.warn('link.lost', { gateway: gatewayId, endpoint, code: cause.code, reason: cause.message });
    return { kind: 'lived' };
  }

  /** Lets a draining link finish the tunnels it has. */
  async #finish(link: Link, { signal }: SlotContext, resources: DisposableStack): Promise<void> {
    const over = link.ended.then(() => true);
    while (link.inUse > 0 && !signal.aborted) {
      if (await Promise.race([over, this.#clock.sleep(100).then(() => false)])) break;
    }
    resources.dispose();
  }

  #logFailure(endpoint: string, attempt: number, failure: FairleadError): 'failed' | 'refused' {
    const permanent = PERMANENT.has(failure.code);
    const refused = permanent || failure.code === 'UNTRUSTED_PEER';
    const level = refused ? 'error' : 'warn';
    if (refused && this.#links.size === 0) this.#options.onRefused?.();
    this.#options.logger.log(level, 'link.failed', { endpoint, attempt, code: failure.code, reason: failure.message });
    return permanent ? 'refused' : 'failed';
  }

  /** The endpoint fewest of our links use or try; of those, the one whose last trouble is longest ago; then at random. */
  #pickEndpoint(): Endpoint {
    const load = (endpoint: Endpoint): number => this.#dialling.get(`${endpoint.host}:${endpoint.port}`) ?? 0;
    const trouble = (endpoint: Endpoint): number => this.#troubled.get(`${endpoint.host}:${endpoint.port}`) ?? 0;
    const shuffled = this.#options.endpoints.map((endpoint) => ({ endpoint, order: Math.random() }));
    shuffled.sort(
      (a, b) => load(a.endpoint) - load(b.endpoint) || trouble(a.endpoint) - trouble(b.endpoint) || a.order - b.order,
    );
    return (shuffled[0] as { endpoint: Endpoint }).endpoint;
  }

  #dial(endpoint: Endpoint, signal: AbortSignal): Promise<GatewayConnection> {
    const { proxy } = this.#options;
    const { rootsPem, trustDomain } = this.#identity;
    return connectToGateway({
      endpoint,
      proxy,
      signal,
      identity: this.#identity,
      trust: { kind: 'roots', rootsPem, trustDomain },
    });
  }

  #establish(connection: GatewayConnection, slot: number, onDrain: () => void): Promise<Link> {
    const { clusterId, generation } = this.#identity;
    const { facts, kubeApi, tcp, logger } = this.#options;
    return Link.establish(
      { connection, agentInstance: this.#agentInstance, slot, facts, kubeApi, tcp, logger, clusterId, generation },
      onDrain,
    );
  }

  /** At two thirds of the certificate's life, over any link; links that stand are not touched. */
  async #renewInTime(signal: AbortSignal): Promise<void> {
    // Even a clock that is far ahead must not make this a storm.
    let pauseMs = 0;
    for (let attempt = 0; !signal.aborted;) {
      const dueMs = Math.max(this.#untilRenewalMs(), pauseMs);
      const waitMs = attempt === 0 ? dueMs : fullJitterMs(attempt, { baseMs: 1_000, capMs: 60_000 });
      await this.#clock.sleep(waitMs, signal).catch(() => undefined);
      if (signal.aborted || this.#untilRenewalMs() > 0) continue;
      try {
        using connection = await this.#dial(this.#pickEndpoint(), signal);
        const renewed = await renew(connection, this.#identity, signal);
        await this.#options.store.saveIdentity(renewed);
        this.#identity = renewed;
        attempt = 0;
        pauseMs = lifeMs(renewed) / 12;
        this.#options.logger.info('agent.renewed', { notAfter: leafOf(renewed).validTo });
      } catch (error) {
        attempt += 1;
        const failure = toFairleadError(error);
        this.#options.logger.warn('agent.renewal.failed', { attempt, code: failure.code, reason: failure.message });
      }
    }
  }

  #untilRenewalMs(): number {
    const beginMs = Date.parse(leafOf(this.#identity).validFrom);
    const dueMs = beginMs + (lifeMs(this.#identity) * 2) / 3 - this.#clock.nowMs();
    return Math.min(Math.max(dueMs, 0), 24 * 3_600_000);
  }
}

function lifeMs(identity: AgentIdentity): number {
  const { validFrom, validTo } = leafOf(identity);
  return Date.parse(validTo) - Date.parse(validFrom);
}

function leafOf(identity: AgentIdentity): X509Certificate {
  return new X509Certificate(identity.chainPem[0] ?? '');
}
