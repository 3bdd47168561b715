import type { TLSSocket } from 'node:tls';
import { FairleadError, messageOf, toFairleadError } from '@fairlead/errors';
import { HTTP2_CODE, Http2Server, type Http2Session, type Http2Stream } from '@fairlead/http2';
import {
  HandshakingConnections,
  admitInTurn,
  RateLimitedLog,
  ReturningOffenders,
  type NetworkConcurrencyLimits,
  clientAddressOf,
} from '@fairlead/limits';
import type { Logger, Span, Tracer } from '@fairlead/observability';
import { isOutOfDate, readPeerCertificate } from '@fairlead/pki';
import type { Open } from '@fairlead/proto';
import {
  FrameDecoder,
  LIMITS,
  encodeControl,
  formatTraceparent,
  readTraceparent,
  traceIdIn,
} from '../../core/index.js';
import {
  DEFAULT_KEEPALIVE,
  RELAY_PATH,
  RELAY_SESSION_OPTIONS,
  abandonStream,
  acceptGrpcStream,
  fitStreamWindow,
  keepAlive,
  rejectGrpcStream,
  splice,
  type SplicedBytes,
} from '../../link/index.js';
import type { AbuseMetrics, CertificateSource, RelayEvents, RelayMetrics, RevokedCertificates } from '../ports.js';
import type { SessionRegistry } from '../session-registry.js';
import { reportAbuse } from '../report-abuse.js';
import { noteFailedHandshakes, reportTlsErrors, useCertificate } from '../tls-server.js';

export interface RelayServerOptions {
  readonly identity: CertificateSource;
  /** Of this installation: others may have gateways below the same root. */
  readonly trustDomain: string;
  readonly events: RelayEvents;
  readonly registry: SessionRegistry;
  readonly revoked: RevokedCertificates;
  readonly logger: Logger;
  readonly metrics: RelayMetrics & AbuseMetrics;
  readonly tracer: Tracer;
}

interface ServeOptions extends RelayServerOptions {
  readonly abuseLines: RateLimitedLog;
  readonly refusedLines: RateLimitedLog;
}

const GRPC_UNIMPLEMENTED = 12;
const HANDSHAKE_TIMEOUT_MS = 5_000;
/** A replica gives up after 3 s (`relay-client.ts`): what begins later is work for nobody. */
const MAX_WAIT_MS = 2_500;
const REVOKED = 'the certificate was revoked';
/** Connections whose handshake has not ended: replicas make one each. */
const HANDSHAKING: NetworkConcurrencyLimits = { total: 1_024, perNetwork: 256 };

/**
 * The relay's port: mutual TLS, and only for identities of gateways of this trust domain. An agent's certificate is of the same CA and is
 * refused here all the same.
 */
export function createRelayServer(given: RelayServerOptions): Http2Server {
  const options: ServeOptions = { ...given, abuseLines: new RateLimitedLog(), refusedLines: new RateLimitedLog() };
  const offenders = new ReturningOffenders();
  const server = new Http2Server(
    {
      session: RELAY_SESSION_OPTIONS,
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      requestCert: true,
      rejectUnauthorized: true,
    },
    (session) => {
      handshaking.admit(session.socket);
      session.once('close', (cause) => {
        if (cause) options.logger.debug('relay.session.error', { reason: cause.message });
      });
      const why = refusalOf(session.socket, options);
      if (why === null) serveReplica(session, options);
      else {
        offenders.note(clientAddressOf(session.socket));
        turnReplicaAway(session, why, options);
      }
    },
  );
  options.revoked.onChange(() => {
    for (const session of server.sessions) {
      const why = refusalOf(session.socket, options);
      if (why === REVOKED) turnReplicaAway(session, why, options);
    }
  });
  admitInTurn(server.tls, { offenders, maxWaitMs: MAX_WAIT_MS });
  const handshaking = new HandshakingConnections(server.tls, HANDSHAKING);
  useCertificate(server.tls, options.identity);
  noteFailedHandshakes(server.tls, offenders);
  reportTlsErrors(server.tls, options.logger);
  return server;
}

function serveReplica(session: Http2Session, options: ServeOptions): void {
  reportAbuse(session, { ...options, door: 'relay' });
  session.setConnectionWindow(LIMITS.connectionWindowBytes);
  keepAlive(session, DEFAULT_KEEPALIVE, fitStreamWindow(session));
  session.on('stream', (stream, { path }) => {
    if (path === RELAY_PATH) void serveRelayedTunnel(stream, options);
    else rejectGrpcStream(stream, GRPC_UNIMPLEMENTED, 'only tunnels are relayed here');
  });
}

function turnReplicaAway(session: Http2Session, why: string, { logger, events, refusedLines }: ServeOptions): void {
  const address = clientAddressOf(session.socket);
  const line = refusedLines.next({ address });
  if (line) logger.warn('relay.peer.refused', { address, reason: why, ...line });
  const code = why === REVOKED ? 'CERTIFICATE_REVOKED' : 'CERTIFICATE_REFUSED';
  events.accessRefused({ code, reason: why, address, door: 'relay' });
  session.destroy();
}

function refusalOf(socket: TLSSocket, { trustDomain, revoked }: RelayServerOptions): string | null {
  try {
    const peer = readPeerCertificate(socket.getPeerX509Certificate()?.raw ?? new Uint8Array());
    // First: what stands may have outlived its certificate.
    if (revoked.has(peer)) return REVOKED;
    if (isOutOfDate(peer)) return 'the certificate has expired';
    if (peer.id.kind !== 'gateway') return 'the certificate is not a gateway’s';
    return peer.id.trustDomain === trustDomain ? null : 'the certificate is of another trust domain';
  } catch (error) {
    return messageOf(error);
  }
}

/**
 * Serves one relayed tunnel from this replica's own sessions, or refuses it: one hop, so no loops. Only the Open is
 * read here; everything after it is spliced. Never throws: a fault of ours costs this tunnel, whose streams end once, with a code.
 */
async function serveRelayedTunnel(stream: Http2Stream, options: RelayServerOptions): Promise<void> {
  // Cancelled before we came to it.
  if (stream.closed) return;
  const held = [stream];
  try {
    acceptGrpcStream(stream);
    const joined = await joinAgent(stream, options);
    if (!joined) return;
    const { open, agentStream, span } = joined;
    held.push(agentStream);
    agentStream.write(encodeControl({ case: 'open', value: open }));
    options.metrics.relayedTunnels.inc({ direction: 'in' });
    await reportRelayed(options, open, stream, span, (counts) => splice(stream, agentStream, counts));
  } catch (error) {
    options.logger.error('relay.tunnel.broken', { reason: messageOf(error), err: error });
    for (const each of held) if (!each.closed) each.cancel(HTTP2_CODE.internalError);
  }
}

interface Joined {
  readonly open: Open;
  readonly agentStream: Http2Stream;
  readonly span: Span;
}

/** What is asked for, and a parked tunnel of the agent it is for; null if the asking replica was refused. What is no refusal is thrown. */
async function joinAgent(stream: Http2Stream, { registry, tracer }: RelayServerOptions): Promise<Joined | null> {
  let span: Span | undefined;
  const waiting = new AbortController();
  const giveUp = (): void => waiting.abort(new FairleadError('AGENT_OVERLOADED', 'the agent parked no tunnel in time'));
  const timer = setTimeout(giveUp, LIMITS.openTimeoutMs);
  // Who asked has gone: do not spend a tunnel of the agent on it.
  stream.onceClosed(giveUp);
  try {
    const open = await readOpen(stream, AbortSignal.timeout(LIMITS.openTimeoutMs));
    span = beginRelayed(tracer, open);
    const [session] = registry.of(open.clusterId);
    if (!session) throw new FairleadError('NO_SESSION', 'this replica holds no link of the cluster');
    return { open, span, agentStream: await session.take(waiting.signal) };
  } catch (error) {
    span?.end(toFairleadError(error).code);
    if (!(error instanceof FairleadError)) throw error;
    turnAway(stream, error);
    return null;
  } finally {
    clearTimeout(timer);
  }
}

/** The first frame, which must be Open and must be alone: nothing may follow before Opened. */
function readOpen(stream: Http2Stream, signal: AbortSignal): Promise<Open> {
  return new Promise((resolve, reject) => {
    const decoder = new FrameDecoder();
    const settle = (finish: () => void): void => {
      signal.removeEventListener('abort', onAbort);
      stream.detach();
      finish();
    };
    const fail = (error: Error): void => settle(() => reject(error));
    const onAbort = (): void => fail(new FairleadError('DEADLINE_EXCEEDED', 'the other replica sent no Open in time'));
    const onGone = (): void =>
      fail(new FairleadError('TUNNEL_RESET', 'the other replica ended the stream before its Open'));
    signal.addEventListener('abort', onAbort, { once: true });
    stream.attach({
      onData: (chunk) => {
        stream.taken(chunk.length);
        try {
          const open = decodeOpen(decoder, chunk);
          if (open) settle(() => resolve(open));
        } catch (error) {
          fail(error as Error);
        }
      },
      onDrain: () => undefined,
      onEnd: onGone,
      onClose: onGone,
    });
  });
}

/** The Open that this chunk completes, if it does. PROTOCOL_ERROR for anything else. */
function decodeOpen(decoder: FrameDecoder, chunk: Buffer): Open | null {
  let open: Open | null = null;
  decoder.push(chunk, {
    onData: () => {
      throw new FairleadError('PROTOCOL_ERROR', 'data came before Open');
    },
    onControl: (kind) => {
      if (open || kind.case !== 'open') throw new FairleadError('PROTOCOL_ERROR', 'expected one Open');
      open = kind.value;
    },
  });
  if (open && !decoder.atBoundary) throw new FairleadError('PROTOCOL_ERROR', 'bytes came before Opened');
  return open;
}

/** What begins against the protocol is broken off; all else is an answer that lets the opener try elsewhere. */
function turnAway(stream: Http2Stream, { code, message }: FairleadError): void {
  if (!stream.writable) return;
  const kind =
    code === 'PROTOCOL_ERROR'
      ? ({ case: 'reset', value: { $typeName: 'fairlead.link.v1.Reset', code, message } } as const)
      : ({ case: 'refused', value: { $typeName: 'fairlead.link.v1.Refused', code, message } } as const);
  stream.write(encodeControl(kind));
  abandonStream(stream);
}

export interface RelayReportOptions {
  readonly metrics: RelayMetrics;
  readonly logger: Logger;
}

/** The span of a relayed tunnel, from its Open to its end. If it is recorded, the Open goes on below it. */
export function beginRelayed(tracer: Tracer, open: Open): Span {
  const { tunnelId, tenantId, clusterId, traceparent } = open;
  const span = tracer.begin('tunnel.relay', 'server', readTraceparent([traceparent]), {
    'fairlead.tunnel.id': tunnelId,
    'fairlead.tenant.id': tenantId,
    'fairlead.cluster.id': clusterId,
  });
  if (span.recording) open.traceparent = formatTraceparent(span.context);
  return span;
}

/**
 * Counts what a relayed tunnel carries while it does, and tells it in one line of the log when it is over. What went by
 * was not read: the cause is COMPLETE when the asking replica ended its direction in order, which a Reset in band is too.
 */
export async function reportRelayed(
  { metrics, logger }: RelayReportOptions,
  { tunnelId, tenantId, clusterId, traceparent }: Open,
  stream: Http2Stream,
  span: Span,
  carry: (counts: SplicedBytes) => Promise<unknown>,
): Promise<void> {
  const startedMs = performance.now();
  const counts = { forward: 0, backward: 0 };
  const counted = metrics.relayedBytes.follow(() => counts);
  metrics.relayedOpen.inc();
  try {
    await carry(counts);
  } finally {
    counted();
    metrics.relayedOpen.dec();
    const cause = stream.ended ? 'COMPLETE' : 'TUNNEL_RESET';
    const { forward, backward } = counts;
    span.set({ 'fairlead.bytes.forward': forward, 'fairlead.bytes.backward': backward, 'fairlead.outcome': cause });
    span.end(cause === 'COMPLETE' ? undefined : cause);
    logger.info('relay.closed', {
      traceId: traceIdIn(traceparent),
      tunnelId,
      tenantId,
      clusterId,
      cause,
      bytesUp: forward,
      bytesDown: backward,
      durationMs: Math.round(performance.now() - startedMs),
    });
  }
}
