import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { FairleadError, toFairleadError, type ErrorCode } from '@fairlead/errors';
import type { Logger, Span, Tracer } from '@fairlead/observability';
import type { Link } from '@fairlead/tunnel/agent';
import { formatTraceparent } from '@fairlead/tunnel/core';
import { bridge, whileOpen, type TunnelConnection } from '@fairlead/tunnel/link';
import type { AgentMetrics } from '../agent-metrics.js';
import type { EgressPort } from './egress-ports.js';

export interface EgressListenerOptions {
  readonly ports: readonly EgressPort[];
  /** Address to listen at; absent: all of them. */
  readonly host?: string | undefined;
  /** Links that a connection may take now, the least busy one first. */
  readonly links: () => readonly Pick<Link, 'openEgress'>[];
  readonly metrics: AgentMetrics;
  readonly logger: Logger;
  readonly tracer: Tracer;
}

export interface EgressListener extends Disposable {
  /** As they were bound, in the order of the options. */
  readonly ports: readonly number[];
}

/** At once, of all ports. What is more is reset. */
const MAX_CONNECTIONS = 128;
const TCP_KEEPALIVE_MS = 30_000;
/** Answers that mean "not by this link": no byte has moved, another one may be tried. */
const TRY_NEXT: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['UNAVAILABLE', 'TUNNEL_RESET', 'DRAINING', 'NO_SESSION']);

/**
 * The door out of the cluster: whoever connects to one of these ports is carried to its upstream by a gateway, if the gateway's
 * rules allow that; the agent decides nothing, and reads nothing. Rejects if a port cannot be had.
 */
export async function listenForEgress(options: EgressListenerOptions): Promise<EgressListener> {
  const stopping = new AbortController();
  const open = new Set<Socket>();
  const servers: Server[] = [];
  const stop = (): void => {
    stopping.abort(new FairleadError('UNAVAILABLE', 'the agent stops'));
    for (const server of servers) server.close();
    for (const socket of open) socket.resetAndDestroy();
  };
  try {
    for (const { port, upstream } of options.ports) {
      const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
        take(socket, open, () => serve(options, upstream, socket, stopping.signal));
      });
      servers.push(server);
      server.listen(port, ...(options.host === undefined ? [] : [options.host]));
      await once(server, 'listening');
    }
  } catch (error) {
    stop();
    throw error;
  }
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  options.logger.info('egress.listening', { ports });
  return { ports, [Symbol.dispose]: stop };
}

function take(socket: Socket, open: Set<Socket>, begin: () => Promise<void>): void {
  // What broke it shows when it is gone; unheard, it would end the process.
  socket.on('error', () => undefined);
  if (open.size >= MAX_CONNECTIONS) {
    socket.resetAndDestroy();
    return;
  }
  open.add(socket);
  socket.once('close', () => open.delete(socket));
  socket.setKeepAlive(true, TCP_KEEPALIVE_MS);
  void begin();
}

/** One connection, to its end. Never rejects. */
async function serve(
  options: EgressListenerOptions,
  upstream: EgressPort['upstream'],
  socket: Socket,
  stopping: AbortSignal,
): Promise<void> {
  const { metrics, logger, tracer } = options;
  const startedMs = performance.now();
  const tunnelId = randomUUID();
  const facts = { tunnelId, upstream: `${upstream.host}:${upstream.port}`, address: socket.remoteAddress };
  const peer = { 'server.address': upstream.host, 'server.port': upstream.port, 'fairlead.tunnel.id': tunnelId };
  const span = tracer.begin('egress', 'client', undefined, peer);
  try {
    const tunnel = await openFor(options, { upstream, tunnelId, span, socket, stopping });
    metrics.egressOpen.inc();
    const bytes = { toTunnel: 0, fromTunnel: 0 };
    const counted = metrics.egressBytes.follow(() => ({ out: bytes.toTunnel, in: bytes.fromTunnel }));
    const { cause } = await bridge(socket, tunnel, () => void socket.resetAndDestroy(), bytes);
    counted();
    metrics.egressOpen.dec();
    metrics.egress.inc({ outcome: 'ok' });
    const { toTunnel: bytesOut, fromTunnel: bytesIn } = bytes;
    const durationMs = Math.round(performance.now() - startedMs);
    logger.info('egress.closed', { ...facts, cause, bytesOut, bytesIn, durationMs });
    span.end(cause === 'COMPLETE' ? undefined : cause);
  } catch (error) {
    // A plain TCP client can be told nothing but a reset: the reason stands here.
    const { code, message } = toFairleadError(error);
    metrics.egress.inc({ outcome: code });
    logger.warn('egress.refused', { ...facts, code, reason: message });
    span.end(code);
    socket.resetAndDestroy();
  }
}

interface Asked {
  readonly upstream: EgressPort['upstream'];
  readonly tunnelId: string;
  readonly span: Span;
  readonly socket: Socket;
  readonly stopping: AbortSignal;
}

/** By the first link that takes it. Rejects with the gateway's refusal, or UNAVAILABLE. */
function openFor({ links }: EgressListenerOptions, asked: Asked): Promise<TunnelConnection> {
  const { upstream, tunnelId, span, socket, stopping } = asked;
  const target = { $typeName: 'fairlead.link.v1.Tcp' as const, ...upstream };
  return whileOpen(socket, 'who connected has gone', async (gone) => {
    const signal = AbortSignal.any([stopping, gone]);
    let failure = new FairleadError('UNAVAILABLE', 'no gateway that this agent is linked to carries connections out');
    for (const link of links()) {
      try {
        return await link.openEgress(target, tunnelId, formatTraceparent(span.context), signal);
      } catch (error) {
        signal.throwIfAborted();
        failure = toFairleadError(error);
        if (!TRY_NEXT.has(failure.code)) throw failure;
      }
    }
    throw failure;
  });
}
