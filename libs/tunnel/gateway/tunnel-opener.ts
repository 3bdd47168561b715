import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { startDeadline } from '@fairlead/clock';
import type { ClusterEntry } from '@fairlead/contracts';
import { FairleadError, toFairleadError, type ErrorCode } from '@fairlead/errors';
import { RateLimitedLog } from '@fairlead/limits';
import type { LogFields, Logger, Span, Tracer } from '@fairlead/observability';
import { OpenSchema, type Open } from '@fairlead/proto';
import { LIMITS, formatTraceparent, type TraceContext } from '../core/index.js';
import { TunnelConnection } from '../link/index.js';
import type { AgentSession } from './agent-session.js';
import type { OpenerMetrics } from './ports.js';
import type { RelayClient } from './relay/relay-client.js';
import type { ConnectedTime } from './routing/route-watcher.js';
import type { RouteOwner, RouteTable } from './routing/route-table.js';
import type { SessionRegistry } from './session-registry.js';

/** Answers that mean "not here": the next owner may be asked, because no byte has moved. */
const TRY_NEXT: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'NO_SESSION',
  'AGENT_OVERLOADED',
  'DRAINING',
  'TUNNEL_RESET',
  'UNAVAILABLE',
  'UNTRUSTED_PEER',
]);
/** Of these, the ones that say the owner's process or its session is gone. */
const OWNER_GONE: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['NO_SESSION', 'TUNNEL_RESET', 'UNAVAILABLE']);

export interface TunnelOpenerOptions {
  readonly registry: SessionRegistry;
  readonly table: RouteTable;
  readonly time: ConnectedTime;
  readonly relay: RelayClient;
  readonly metrics: OpenerMetrics;
  readonly logger: Logger;
  readonly tracer: Tracer;
}

/** The way a tunnel takes to its agent. */
export interface TunnelWay {
  readonly tunnelId: string;
  readonly via: 'own' | 'relay';
  /** Credential of the replica that it was relayed to; absent: this one holds the agent's link. */
  readonly replica?: string | undefined;
  /** Of that link; where it is to another replica, as far as this one knows which it is. */
  readonly sessionId?: string | undefined;
}

export interface OpenedTunnel extends TunnelWay {
  readonly connection: TunnelConnection;
}

interface Candidate {
  readonly via: 'own' | 'relay';
  readonly name: string;
  /** The other replica, if it is one. */
  readonly replica?: string;
  readonly sessionId?: string | undefined;
  connect(signal: AbortSignal): Promise<TunnelConnection>;
  failed(code: ErrorCode): void;
}

/** Finds a way to a cluster's agent: an own session first, then the replicas that hold one, each probed by its Open. */
export class TunnelOpener {
  readonly #options: TunnelOpenerOptions;
  readonly #probeLines = new RateLimitedLog();

  constructor(options: TunnelOpenerOptions) {
    this.#options = options;
  }

  /**
   * Resolves with a tunnel whose far end has the target. Rejects with AGENT_OFFLINE when nobody holds a link,
   * AGENT_RECONNECTING when somebody did a moment ago, AGENT_OVERLOADED when somebody does but has no free tunnel, the agent's own refusal, or the signal's reason.
   */
  async open(
    cluster: ClusterEntry,
    target: Open['target'],
    signal: AbortSignal,
    trace: TraceContext,
  ): Promise<OpenedTunnel> {
    const { pendingOpens, openSeconds } = this.#options.metrics;
    const { tenantId, clusterId } = cluster;
    const names = { 'fairlead.tenant.id': tenantId, 'fairlead.cluster.id': clusterId };
    const span = this.#options.tracer.begin('tunnel.open', 'client', trace, names);
    const startedMs = performance.now();
    pendingOpens.inc();
    try {
      const opened = await this.#find(cluster, target, signal, span);
      span.end();
      openSeconds.observe({ target: target.case ?? '', via: opened.via }, (performance.now() - startedMs) / 1_000);
      return opened;
    } catch (error) {
      span.end(toFairleadError(error).code);
      throw error;
    } finally {
      pendingOpens.dec();
    }
  }

  async #find(cluster: ClusterEntry, target: Open['target'], signal: AbortSignal, span: Span): Promise<OpenedTunnel> {
    const tunnelId = randomUUID();
    const { tenantId, clusterId, generation } = cluster;
    const traceparent = formatTraceparent(span.context);
    const open = create(OpenSchema, { tunnelId, tenantId, clusterId, generation, target, traceparent });
    span.set({ 'fairlead.tunnel.id': tunnelId });
    const failures: FairleadError[] = [];
    for (const candidate of this.#candidates(clusterId)) {
      try {
        const connection = await this.#try(candidate, open, signal);
        this.#options.metrics.tunnels.inc({ via: candidate.via, outcome: 'ok' });
        span.set({ 'fairlead.via': candidate.via, 'fairlead.replica': candidate.replica });
        const { via, replica, sessionId } = candidate;
        return { connection, tunnelId, via, replica, sessionId };
      } catch (error) {
        const failure = toFairleadError(error);
        this.#options.metrics.tunnels.inc({ via: candidate.via, outcome: failure.code });
        signal.throwIfAborted();
        if (!TRY_NEXT.has(failure.code) && !(failure instanceof NoAnswer)) throw failure;
        candidate.failed(failure.code);
        span.event('probe.failed', { 'fairlead.replica': candidate.replica, 'error.type': failure.code });
        this.#tellProbe({ tunnelId, clusterId, via: candidate.name, code: failure.code });
        failures.push(failure);
      }
    }
    const { table, time } = this.#options;
    const recently = failures.length > 0 || table.seenWithin(clusterId, RECONNECT_MS, time.nowMs());
    throw nobody(failures, recently);
  }

  /** One a request while a cluster's agent, or the way to it, is not well. */
  #tellProbe(failed: { readonly clusterId: string } & LogFields): void {
    const line = this.#probeLines.nextOf(failed.clusterId);
    if (line) this.#options.logger.info('tunnel.probe.failed', { ...failed, ...line });
  }

  #candidates(clusterId: string): Candidate[] {
    const { registry, table, time } = this.#options;
    const own = registry.of(clusterId).map((session) => ownCandidate(session));
    const relayed = table.owners(clusterId, time.nowMs()).map((owner) => this.#relayCandidate(owner));
    return [...own, ...relayed];
  }

  #relayCandidate(owner: RouteOwner): Candidate {
    const { relay, table, metrics } = this.#options;
    return {
      via: 'relay',
      name: owner.credential,
      replica: owner.credential,
      sessionId: owner.sessionId,
      connect: async () => {
        const connection = await relay.tunnel(owner);
        metrics.relayedTunnels.inc({ direction: 'out' });
        return connection;
      },
      failed: (code) => {
        if (OWNER_GONE.has(code)) table.probeFailed(owner.instance);
      },
    };
  }

  async #try(candidate: Candidate, open: Open, signal: AbortSignal): Promise<TunnelConnection> {
    const ms = LIMITS.openTimeoutMs + (open.target.case === 'tcp' ? LIMITS.dialTimeoutMs : 0);
    const late = (): Error => new NoAnswer('DEADLINE_EXCEEDED', `${candidate.name} did not answer in time`);
    const deadline = startDeadline(signal, ms, late);
    try {
      const connection = await candidate.connect(deadline.signal);
      await connection.open(open, deadline.signal);
      return connection;
    } finally {
      deadline.clear();
    }
  }
}

/** Ours, and not the agent's word about its target. */
class NoAnswer extends FairleadError {}

function ownCandidate(session: AgentSession): Candidate {
  return {
    via: 'own',
    name: 'own session',
    sessionId: session.facts.sessionId,
    connect: async (signal) => new TunnelConnection(await session.take(signal), 'opener'),
    failed: () => undefined,
  };
}

/** How long an agent that lost its links may take to come back before clients are told not to wait. */
const RECONNECT_MS = 30_000;

function nobody(failures: readonly FairleadError[], recently: boolean): FairleadError {
  const overloaded = failures.find((failure) => failure.code === 'AGENT_OVERLOADED');
  if (overloaded) return overloaded;
  const tried = failures.map((failure) => failure.message).join('; ');
  return new FairleadError(
    recently ? 'AGENT_RECONNECTING' : 'AGENT_OFFLINE',
    tried === ''
      ? "the cluster's agent is not connected to any replica"
      : `the cluster's agent cannot be reached: ${tried}`,
  );
}
