import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { create } from '@bufbuild/protobuf';
import type { ClientEntry, ClusterEntry } from '@fairlead/contracts';
import { FairleadError, messageOf, toFairleadError } from '@fairlead/errors';
import { headerPairs } from '@fairlead/kube-http';
import type { Span } from '@fairlead/observability';
import type { PeerCertificate } from '@fairlead/pki';
import { TcpSchema } from '@fairlead/proto';
import { readConnectTarget } from '@fairlead/targets';
import type { OpenedTunnel } from '@fairlead/tunnel/gateway';
import { bridge, type BridgedBytes } from '@fairlead/tunnel/link';
import type { Place } from '../../limits/door-limiter.js';
import { callerOf } from '../../passage/request-trace.js';
import type { LiveConnection } from '../../passage/live-connections.js';
import { chooseCluster, identifyClient, whyShutOut } from './admission.js';
import { ESTABLISHED, refusal } from './answers.js';
import type { ConnectContext } from './connect-context.js';
import { beginConnectSpan, endConnectSpan } from './connect-span.js';
import { endStalled } from './end-stalled.js';
import { noticeVanished } from './notice-vanished.js';

/** What is known of a connection so far, for its log line. */
interface ConnectFacts {
  readonly span: Span;
  readonly address: string;
  client?: ClientEntry;
  certificate?: PeerCertificate;
  cluster?: ClusterEntry;
  target?: { readonly host: string; readonly port: number };
}

/** After a refusal, how long the client has to read it. */
const READ_REFUSAL_MS = 2_000;

/**
 * One CONNECT request, from its head to the end of its connection. Nothing is written before the target is there or is
 * refused; what the client sent early goes first. Rejects only for a fault of ours.
 */
export async function serveConnect(
  context: ConnectContext,
  request: IncomingMessage,
  socket: TLSSocket,
  early: Buffer,
): Promise<void> {
  const startedMs = performance.now();
  const span = beginConnectSpan(context.tracer, callerOf(request.rawHeaders));
  const facts: ConnectFacts = { span, address: socket.remoteAddress ?? '' };
  const gone = new AbortController();
  const onGone = (): void => gone.abort(new FairleadError('TUNNEL_RESET', 'the client went away'));
  socket.on('error', () => undefined);
  socket.once('close', onGone);
  let place: Place | undefined;
  try {
    const { client, certificate } = identifyClient(context.directory, context.trustDomain, socket);
    Object.assign(facts, { client, certificate });
    // It may have become known since its handshake.
    context.places.admit(socket, client.clientId);
    place = context.limiter.take(client.clientId);
    place.useCluster(chooseTarget(context, request, socket, facts).clusterId);
    const tunnel = await openTarget(context, facts, gone.signal);
    place.opened();
    await carry(context, { socket, tunnel, early, facts, startedMs });
  } catch (error) {
    place?.opened();
    refuse(context, socket, facts, toFairleadError(error), startedMs);
  } finally {
    place?.release();
    socket.off('close', onGone);
  }
}

/** Reads what is asked for; target and cluster are known afterwards. */
function chooseTarget(
  context: ConnectContext,
  request: IncomingMessage,
  socket: TLSSocket,
  facts: ConnectFacts,
): ClusterEntry {
  assertPlainConnect(request);
  const target = readConnectTarget(request.url ?? '');
  if (!target) {
    throw new FairleadError('INVALID_ARGUMENT', 'the target must be host:port, with an IPv6 address in brackets');
  }
  facts.target = target;
  const client = facts.client as ClientEntry;
  const serverName = typeof socket.servername === 'string' ? socket.servername : undefined;
  const cluster = chooseCluster(context.directory, client, serverName, proxyAuthorization(request));
  facts.cluster = cluster;
  return cluster;
}

function openTarget(context: ConnectContext, facts: ConnectFacts, signal: AbortSignal): Promise<OpenedTunnel> {
  signal.throwIfAborted();
  const { cluster, target } = facts as Required<ConnectFacts>;
  return context.opener.open(cluster, { case: 'tcp', value: create(TcpSchema, target) }, signal, facts.span.context);
}

/** A body of a CONNECT could be read as the first bytes for the target, or not (RFC 9110, 9.3.6). */
function assertPlainConnect({ httpVersion, headers }: IncomingMessage): void {
  if (httpVersion !== '1.1') throw new FairleadError('INVALID_ARGUMENT', 'only HTTP/1.1 is spoken here');
  if (headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0') {
    throw new FairleadError('INVALID_ARGUMENT', 'a CONNECT request has no body');
  }
}

function proxyAuthorization({ rawHeaders }: IncomingMessage): string | undefined {
  const values = [...headerPairs(rawHeaders)].filter(([name]) => name.toLowerCase() === 'proxy-authorization');
  if (values.length > 1) throw new FairleadError('INVALID_ARGUMENT', 'Proxy-Authorization came more than once');
  return values[0]?.[1];
}

interface Established {
  readonly socket: TLSSocket;
  readonly tunnel: OpenedTunnel;
  readonly early: Buffer;
  readonly facts: ConnectFacts;
  readonly startedMs: number;
}

async function carry(context: ConnectContext, established: Established): Promise<void> {
  const { socket, tunnel, early, facts, startedMs } = established;
  const { connection, tunnelId, via } = tunnel;
  const openMs = Math.round(performance.now() - startedMs);
  socket.write(ESTABLISHED);
  facts.span.event('established');
  if (early.length > 0) connection.write(early);
  let ended: FairleadError | undefined;
  const reset = (): void => context.reset(socket);
  const bytes = { toTunnel: early.length, fromTunnel: 0 };
  const end = (cause: FairleadError): void => {
    ended = cause;
    reset();
  };
  const forget = context.live.add(liveConnection(context, established, bytes, end));
  endStalled(socket, context.halfClosedStallMs, reset);
  const plain = context.plainOf(socket);
  if (plain) noticeVanished(socket, plain);
  const { cause } = await bridge(socket, connection, reset, bytes);
  forget();
  context.metrics.connects.inc({ outcome: 'ok' });
  const durationMs = Math.round(performance.now() - startedMs);
  context.logger.info('connect.closed', {
    ...described(facts),
    tunnelId,
    via,
    cause: ended?.code ?? cause,
    bytesUp: bytes.toTunnel,
    bytesDown: bytes.fromTunnel,
    openMs,
    durationMs,
  });
  endConnectSpan(facts, ended?.code ?? cause, 200, { tunnelId, via, bytes });
}

function liveConnection(
  { directory }: ConnectContext,
  { socket, tunnel, facts }: Established,
  bytes: BridgedBytes,
  end: (cause: FairleadError) => void,
): LiveConnection {
  const { address, client, certificate, cluster, target } = facts as Required<ConnectFacts>;
  const { clientId, tenantId } = client;
  const { clusterId } = cluster;
  return {
    door: 'connect',
    id: tunnel.tunnelId,
    who: clientId,
    tenantId,
    clusterId,
    address,
    sinceMs: Date.now(),
    target: `${target.host}:${target.port}`,
    bytesUp: () => bytes.toTunnel,
    bytesDown: () => bytes.fromTunnel,
    heldBytes: () => tunnel.connection.heldBytes + socket.readableLength + socket.writableLength,
    refusedNow: () => whyShutOut(directory, { client, certificate }, clusterId),
    end,
  };
}

/** Refusals that an auditor wants to see; the others are faults. */
const REFUSED_STATUS = new Set([400, 401, 403]);

function refuse(
  context: ConnectContext,
  socket: TLSSocket,
  facts: ConnectFacts,
  failure: FairleadError,
  startedMs: number,
): void {
  const { code, message, kind, cause } = failure;
  const { status, text } = refusal(failure);
  context.metrics.connects.inc({ outcome: code });
  context.metrics.refusals.inc({ door: 'connect', code });
  const line = context.refusedLines.next({ address: facts.address, user: facts.client?.clientId });
  if (line) {
    context.logger.log(kind.logLevel, 'connect.refused', {
      ...described(facts),
      status,
      cause: code,
      reason: message,
      ...(code === 'INTERNAL' ? { detail: messageOf(cause) } : {}),
      durationMs: Math.round(performance.now() - startedMs),
      ...line,
    });
  }
  if (REFUSED_STATUS.has(kind.http)) {
    const { client, cluster, address } = facts;
    context.events.accessRefused({
      code,
      reason: message,
      address,
      door: 'connect',
      tenantId: client?.tenantId,
      clusterId: cluster?.clusterId,
      cluster: cluster?.name,
      user: client && `client:${client.name}`,
      method: 'CONNECT',
    });
  }
  endConnectSpan(facts, code, status);
  answerAndClose(socket, text);
}

function described({ span, address, client, cluster, target }: ConnectFacts): Record<string, unknown> {
  return {
    traceId: span.context.traceId,
    address,
    clientId: client?.clientId,
    client: client?.name,
    tenantId: client?.tenantId,
    clusterId: cluster?.clusterId,
    target: target && `${target.host}:${target.port}`,
  };
}

/** What the client still sends is read and dropped for a moment: closing at once would take the answer from it. */
export function answerAndClose(socket: TLSSocket, text: string): void {
  if (socket.destroyed || socket.writableEnded) return;
  const timer = setTimeout(() => socket.destroy(), READ_REFUSAL_MS);
  socket.once('close', () => clearTimeout(timer));
  socket.on('error', () => undefined);
  socket.resume();
  socket.end(text);
}
