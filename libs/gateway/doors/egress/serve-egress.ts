import type { Socket } from 'node:net';
import { DampedLines } from '@fairlead/clock';
import type { ClusterEntry } from '@fairlead/contracts';
import { FairleadError, messageOf, toFairleadError } from '@fairlead/errors';
import type { Http2Stream } from '@fairlead/http2';
import type { Logger, Span, Tracer } from '@fairlead/observability';
import type { Open } from '@fairlead/proto';
import { TcpTargets, type Resolve, type TcpTarget } from '@fairlead/tcp-targets';
import { LIMITS, readTraceparent, traceIdIn } from '@fairlead/tunnel/core';
import type { AgentSession } from '@fairlead/tunnel/gateway';
import { TunnelConnection, acceptGrpcStream, bridge, type BridgedBytes } from '@fairlead/tunnel/link';
import type { Directory } from '../../directory.js';
import { DEFAULT_DOOR_LIMITS, DoorLimiter, type DoorLimits, type Place } from '../../limits/door-limiter.js';
import type { GatewayEvents } from '../../reporting/gateway-events.js';
import type { GatewayMetrics } from '../../status/gateway-metrics.js';
import type { LiveConnections } from '../../passage/live-connections.js';
import { EgressPolicies, type EgressRule } from './egress-rules.js';
import { toldToCluster } from './told-to-cluster.js';
import { whyRefused } from './why-refused.js';

export interface EgressOptions {
  readonly rules: readonly EgressRule[];
  readonly limits?: Partial<DoorLimits> | undefined;
  readonly resolve?: Resolve;
  readonly directory: Directory;
  readonly live: LiveConnections;
  readonly metrics: GatewayMetrics;
  readonly events: GatewayEvents;
  readonly logger: Logger;
  readonly tracer: Tracer;
}

/** A cluster fetches Git, one connection at a time for each repository: what is more is no catalog. */
export const DEFAULT_EGRESS_LIMITS: DoorLimits = {
  ...DEFAULT_DOOR_LIMITS,
  waitingPerIdentity: 32,
  perIdentity: { connections: 128, opensPerSecond: 10, heldBytes: 64 * 1024 ** 2 },
};

/**
 * Names that one cluster has resolved: one at a time, as a slow one takes a thread from all clusters; a fetch of each repository now and
 * then. Who asks again at once for one that is not there costs nothing.
 */
const LOOKUPS = { perAsker: { atOnce: 1, waiting: 16, rate: { burst: 40, perSecond: 2 } }, failureMs: 5_000 };

/** One connection out of a cluster, as far as it is known. */
interface Outgoing {
  readonly session: AgentSession;
  readonly connection: TunnelConnection;
  readonly open: Open;
  readonly span: Span;
  readonly startedMs: number;
  cluster?: ClusterEntry;
  target?: TcpTarget;
}

/**
 * The agents' door out of their clusters: raw TCP to what the rules of this replica allow, and nothing else. Which cluster asks
 * is told by the certificate of its link. The connection ends with the link.
 */
export class Egress {
  readonly #options: EgressOptions;
  readonly #policies: EgressPolicies;
  readonly #limiter: DoorLimiter;
  readonly #targets: TcpTargets;
  readonly #lines = new DampedLines();

  constructor(options: EgressOptions) {
    const { rules, limits, live, resolve } = options;
    this.#options = options;
    this.#policies = new EgressPolicies(rules);
    this.#limiter = new DoorLimiter('egress', { ...DEFAULT_EGRESS_LIMITS, ...limits }, live);
    const refusedBy = 'by the egress rules of the control plane: FAIRLEAD_EGRESS_ALLOW of its gateways';
    this.#targets = new TcpTargets({ rules: [], refusedBy, lookups: LOOKUPS, ...(resolve ? { resolve } : {}) });
  }

  /** Serves one Egress call, from its beginning to its end. Never throws. */
  serve(session: AgentSession, stream: Http2Stream): void {
    if (stream.closed) return;
    acceptGrpcStream(stream);
    const connection = new TunnelConnection(stream, 'acceptor');
    const onLate = (): void => {
      connection.destroy(new FairleadError('DEADLINE_EXCEEDED', 'no Open came in time'));
    };
    const timer = setTimeout(onLate, LIMITS.openTimeoutMs).unref();
    connection.once('close', () => clearTimeout(timer));
    connection.once('open', (open: Open) => {
      clearTimeout(timer);
      const span = this.#options.tracer.begin('egress', 'server', readTraceparent([open.traceparent]), {
        'fairlead.tunnel.id': open.tunnelId.slice(0, 64),
        'fairlead.tenant.id': session.facts.tenantId,
        'fairlead.cluster.id': session.facts.clusterId,
      });
      void this.#carryOut({ session, connection, open, span, startedMs: performance.now() });
    });
  }

  async #carryOut(outgoing: Outgoing): Promise<void> {
    const { connection, session } = outgoing;
    const uncount = session.countEgress();
    let place: Place | undefined;
    try {
      // First: a refusal is work, too, and whose it is the certificate of the link has told.
      place = this.#limiter.take(session.facts.clusterId);
      const { cluster, target } = this.#admit(outgoing);
      const socket = await this.#dial(connection, cluster, target);
      place.opened();
      connection.accept();
      await this.#carry(outgoing, cluster, target, socket);
    } catch (error) {
      this.#refuse(outgoing, toFairleadError(error));
    } finally {
      place?.release();
      uncount();
    }
  }

  /** Who asks, and for what. WRONG_CLUSTER, CERTIFICATE_REFUSED, INVALID_ARGUMENT. */
  #admit(outgoing: Outgoing): { cluster: ClusterEntry; target: TcpTarget } {
    const { session, open } = outgoing;
    if (open.clusterId !== session.facts.clusterId) {
      throw new FairleadError('WRONG_CLUSTER', 'the Open names another cluster than the certificate of its link');
    }
    if (open.target.case !== 'tcp') {
      throw new FairleadError('INVALID_ARGUMENT', 'only raw TCP goes out of a cluster');
    }
    const { host, port } = open.target.value;
    const target = { host: host.slice(0, 260), port };
    outgoing.target = target;
    const cluster = this.#options.directory.clusterById(open.clusterId);
    if (!cluster) throw new FairleadError('CERTIFICATE_REFUSED', 'the cluster of this link was deleted');
    outgoing.cluster = cluster;
    return { cluster, target };
  }

  /** Whoever goes away while we dial ends the dialling. */
  async #dial(connection: TunnelConnection, cluster: ClusterEntry, target: TcpTarget): Promise<Socket> {
    const gone = new AbortController();
    const onClose = (): void => gone.abort(new FairleadError('TUNNEL_RESET', 'who asked for the target has gone'));
    connection.once('close', onClose);
    try {
      const policy = this.#policies.of(cluster);
      const socket = await this.#targets.connect(target, gone.signal, policy, cluster.clusterId);
      if (!connection.destroyed) return socket;
      socket.destroy();
      throw gone.signal.reason;
    } finally {
      connection.off('close', onClose);
    }
  }

  async #carry(outgoing: Outgoing, cluster: ClusterEntry, target: TcpTarget, socket: Socket): Promise<void> {
    const { session, connection, open, span, startedMs } = outgoing;
    const { directory, live, metrics, logger } = this.#options;
    const { tenantId, clusterId, remoteAddress: address } = session.facts;
    const dialled = socket.remoteAddress ?? '';
    const bytes: BridgedBytes = { toTunnel: 0, fromTunnel: 0 };
    let ended: FairleadError | undefined;
    const reset = (): void => void socket.resetAndDestroy();
    const forget = live.add({
      door: 'egress',
      id: open.tunnelId.slice(0, 64),
      who: clusterId,
      tenantId,
      clusterId,
      address,
      sinceMs: Date.now(),
      target: `${target.host}:${target.port}`,
      bytesUp: () => bytes.toTunnel,
      bytesDown: () => bytes.fromTunnel,
      heldBytes: () => connection.heldBytes + socket.readableLength + socket.writableLength,
      refusedNow: () => whyRefused(directory, this.#policies, clusterId, { ...target, dialled }),
      end: (cause) => {
        ended = cause;
        connection.destroy(cause);
      },
    });
    const { cause } = await bridge(socket, connection, reset, bytes);
    forget();
    metrics.egress.inc({ outcome: 'ok' });
    const outcome = ended?.code ?? cause;
    const carried = { bytesUp: bytes.toTunnel, bytesDown: bytes.fromTunnel };
    const described = describe(outgoing, cluster);
    logger.info('egress.closed', { ...described, dialled, cause: outcome, ...carried, durationMs: since(startedMs) });
    endSpan(span, target, outcome);
  }

  #refuse(outgoing: Outgoing, failure: FairleadError): void {
    const { connection, session, span, startedMs, cluster, target } = outgoing;
    const { metrics, logger, events } = this.#options;
    const { code, message, kind, cause } = failure;
    metrics.egress.inc({ outcome: code });
    metrics.refusals.inc({ door: 'egress', code });
    const detail = code === 'INTERNAL' ? { detail: messageOf(cause) } : {};
    const described = describe(outgoing, cluster);
    const durationMs = since(startedMs);
    const { clusterId: whose, remoteAddress } = session.facts;
    const line = this.#lines.next({ address: remoteAddress, clusterId: whose });
    if (line) {
      const told = { ...described, cause: code, reason: message, ...detail, durationMs, ...line };
      logger.log(kind.logLevel, 'egress.refused', told);
    }
    if (AUDITED.has(kind.http)) {
      const { tenantId, clusterId, remoteAddress: address } = session.facts;
      const who = { tenantId, clusterId, cluster: cluster?.name, address };
      events.accessRefused({ code, reason: message, door: 'egress', method: 'EGRESS', ...who });
    }
    endSpan(span, target, code);
    if (connection.destroyed) return;
    // A fault of ours after Opened can only break it off.
    if (connection.state.phase !== 'opening') connection.destroy(failure);
    else if (!cluster || !target) connection.refuse(failure);
    else connection.refuse(toldToCluster(failure, target, this.#policies.of(cluster)));
  }
}

/** Refusals that an auditor wants to see; the others are faults. */
const AUDITED = new Set([400, 401, 403]);

function describe({ session, open, target }: Outgoing, cluster: ClusterEntry | undefined): Record<string, unknown> {
  return {
    traceId: traceIdIn(open.traceparent),
    tunnelId: open.tunnelId.slice(0, 64),
    tenantId: session.facts.tenantId,
    clusterId: session.facts.clusterId,
    cluster: cluster?.name,
    target: target && `${target.host}:${target.port}`,
  };
}

function endSpan(span: Span, target: TcpTarget | undefined, outcome: string): void {
  span.set({ 'server.address': target?.host, 'server.port': target?.port, 'fairlead.outcome': outcome });
  span.end(outcome === 'COMPLETE' ? undefined : outcome);
}

const since = (startedMs: number): number => Math.round(performance.now() - startedMs);
