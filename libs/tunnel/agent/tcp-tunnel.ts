import type { Socket } from 'node:net';
import { toFairleadError } from '@fairlead/errors';
import type { Logger, Span, SpanAttributes, Tracer } from '@fairlead/observability';
import type { Open, Tcp } from '@fairlead/proto';
import { readTraceparent, traceIdIn } from '../core/index.js';
import { bridge, dialFor, type BridgedBytes, type TunnelConnection } from '../link/index.js';
import type { TcpDialler, TcpMetrics } from './ports.js';

export interface TcpTunnelOptions {
  readonly targets: TcpDialler;
  readonly metrics: TcpMetrics;
  readonly logger: Logger;
  readonly tracer: Tracer;
}

/** What was asked for: an untrusted word. */
type Target = Readonly<Pick<Tcp, 'host' | 'port'>>;

/**
 * Serves one tunnel to a raw TCP target: dials, says Opened only once it is connected, then carries bytes until both
 * directions ended. An opener that goes away while we dial ends the dialling. Never rejects.
 */
export async function serveTcp(
  connection: TunnelConnection,
  open: Open,
  target: Target,
  options: TcpTunnelOptions,
): Promise<void> {
  const { metrics, logger } = options;
  const startedMs = performance.now();
  const { tunnelId, traceparent } = open;
  const facts = { traceId: traceIdIn(traceparent), tunnelId, host: target.host.slice(0, 260), port: target.port };
  const span = beginTunnel(options.tracer, open, target);
  try {
    const socket = await timedDial(connection, target, options, span);
    connection.accept();
    span.event('opened');
    metrics.openConnections.inc();
    const bytes = { toTunnel: 0, fromTunnel: 0 };
    const counted = metrics.bytes.follow(() => ({ 'to-target': bytes.fromTunnel, 'from-target': bytes.toTunnel }));
    const reset = (): void => void socket.resetAndDestroy();
    const { toTunnel, fromTunnel, cause } = await bridge(socket, connection, reset, bytes);
    endTunnel(span, cause, bytes);
    counted();
    metrics.openConnections.dec();
    metrics.connections.inc({ outcome: 'ok' });
    const durationMs = Math.round(performance.now() - startedMs);
    logger.info('tcp.closed', { ...facts, cause, bytesUp: fromTunnel, bytesDown: toTunnel, durationMs });
  } catch (error) {
    const { code, message, kind } = toFairleadError(error);
    endTunnel(span, code);
    metrics.connections.inc({ outcome: code });
    const durationMs = Math.round(performance.now() - startedMs);
    logger.log(kind.logLevel, 'tcp.refused', { ...facts, cause: code, reason: message, durationMs });
    if (!connection.destroyed) connection.refuse(toFairleadError(error));
  }
}

/** From the Open to the end of the connection. */
function beginTunnel(tracer: Tracer, { tunnelId, tenantId, clusterId, traceparent }: Open, target: Target): Span {
  return tracer.begin('tunnel.serve', 'server', readTraceparent([traceparent]), {
    ...peerOf(target),
    'fairlead.tunnel.id': tunnelId,
    'fairlead.tenant.id': tenantId,
    'fairlead.cluster.id': clusterId,
  });
}

function endTunnel(span: Span, outcome: string, bytes?: BridgedBytes): void {
  span.set({
    'fairlead.bytes.up': bytes?.fromTunnel,
    'fairlead.bytes.down': bytes?.toTunnel,
    'fairlead.outcome': outcome,
  });
  span.end(outcome === 'COMPLETE' ? undefined : outcome);
}

const peerOf = ({ host, port }: Target): SpanAttributes => ({ 'server.address': host, 'server.port': port });

async function timedDial(
  connection: TunnelConnection,
  target: Target,
  { targets, metrics, tracer }: TcpTunnelOptions,
  tunnel: Span,
): Promise<Socket> {
  const span = tracer.begin('tcp.dial', 'client', tunnel.context, peerOf(target));
  const timed = metrics.dialSeconds.startTimer();
  metrics.pendingDials.inc();
  try {
    const socket = await dialFor(connection, (gone) => targets.connect(target, gone));
    timed();
    span.set({ 'network.peer.address': socket.remoteAddress });
    span.end();
    return socket;
  } catch (error) {
    span.end(toFairleadError(error).code);
    throw error;
  } finally {
    metrics.pendingDials.dec();
  }
}
