import type { Socket } from 'node:net';
import { FairleadError, toFairleadError } from '@fairlead/errors';
import type { Logger } from '@fairlead/observability';
import type { Open } from '@fairlead/proto';
import { bridge, type TunnelConnection } from '../link/index.js';
import type { AgentMetrics } from './agent-metrics.js';
import type { TcpTargets } from './tcp-targets.js';

export interface TcpTunnelOptions {
  readonly targets: TcpTargets;
  readonly metrics: AgentMetrics;
  readonly logger: Logger;
}

/**
 * Serves one tunnel to a raw TCP target: dials, says Opened only once it is connected, then carries bytes until both
 * directions ended. An opener that goes away while we dial ends the dialling. Never rejects.
 */
export async function serveTcp(
  connection: TunnelConnection,
  open: Open,
  target: { readonly host: string; readonly port: number },
  options: TcpTunnelOptions,
): Promise<void> {
  const { metrics, logger } = options;
  const startedMs = performance.now();
  const facts = { tunnelId: open.tunnelId, host: target.host.slice(0, 260), port: target.port };
  try {
    const socket = await timedDial(connection, target, options);
    connection.accept();
    metrics.openConnections.inc();
    const bytes = { toTunnel: 0, fromTunnel: 0 };
    const counted = metrics.bytes.follow(() => ({ 'to-target': bytes.fromTunnel, 'from-target': bytes.toTunnel }));
    const reset = (): void => void socket.resetAndDestroy();
    const { toTunnel, fromTunnel, cause } = await bridge(socket, connection, reset, bytes);
    counted();
    metrics.openConnections.dec();
    metrics.connections.inc({ outcome: 'ok' });
    const durationMs = Math.round(performance.now() - startedMs);
    logger.info('tcp.closed', { ...facts, cause, bytesUp: fromTunnel, bytesDown: toTunnel, durationMs });
  } catch (error) {
    const { code, message, kind } = toFairleadError(error);
    metrics.connections.inc({ outcome: code });
    const durationMs = Math.round(performance.now() - startedMs);
    logger.log(kind.logLevel, 'tcp.refused', { ...facts, cause: code, reason: message, durationMs });
    if (!connection.destroyed) connection.refuse(toFairleadError(error));
  }
}

async function timedDial(
  connection: TunnelConnection,
  target: { readonly host: string; readonly port: number },
  { targets, metrics }: TcpTunnelOptions,
): Promise<Socket> {
  const timed = metrics.dialSeconds.startTimer();
  metrics.pendingDials.inc();
  try {
    const socket = await dialFor(connection, target, targets);
    timed();
    return socket;
  } finally {
    metrics.pendingDials.dec();
  }
}

async function dialFor(
  connection: TunnelConnection,
  target: { readonly host: string; readonly port: number },
  targets: TcpTargets,
): Promise<Socket> {
  const gone = new AbortController();
  const onClose = (): void => gone.abort(new FairleadError('TUNNEL_RESET', 'who asked for the target has gone'));
  connection.once('close', onClose);
  try {
    const socket = await targets.connect(target, gone.signal);
    if (!connection.destroyed) return socket;
    socket.destroy();
    throw gone.signal.reason;
  } finally {
    connection.off('close', onClose);
  }
}
