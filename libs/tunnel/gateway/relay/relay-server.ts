import {
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { FairleadError, messageOf, toFairleadError } from '@fairlead/errors';
import type { Logger, Span, Tracer } from '@fairlead/observability';
import { readPeerCertificate } from '@fairlead/pki';
import type { Open } from '@fairlead/proto';
import { FrameDecoder, LIMITS, encodeControl } from '../../core/index.js';
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
  widenConnectionWindow,
} from '../../link/index.js';
import type { GatewayEvents } from '../gateway-events.js';
import { RELAY_ABUSE_OPTIONS, guardSession } from '../http2-abuse.js';
import { isOutOfDate } from '../link-peer.js';
import type { GatewayMetrics } from '../gateway-metrics.js';
import { reportTlsErrors, useCertificate } from '../link-server.js';
import type { RenewingCertificate } from '../renewing-certificate.js';
import type { SessionRegistry } from '../session-registry.js';
import { beginRelayed, reportRelayed } from './report-relayed.js';

export interface RelayServerOptions {
  readonly identity: RenewingCertificate;
  readonly events: GatewayEvents;
  readonly registry: SessionRegistry;
  readonly logger: Logger;
  readonly metrics: GatewayMetrics;
  readonly tracer: Tracer;
}

const GRPC_UNIMPLEMENTED = 12;
const HANDSHAKE_TIMEOUT_MS = 5_000;

/**
 * The replicas' door: mutual TLS, and only for identities of gateways. An agent's certificate is of the same CA and is
 * refused here all the same.
 */
export function createRelayServer(options: RelayServerOptions): Http2SecureServer {
  const server = createSecureServer({
    ...RELAY_SESSION_OPTIONS,
    ...RELAY_ABUSE_OPTIONS,
    minVersion: 'TLSv1.3',
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    requestCert: true,
    rejectUnauthorized: true,
  });
  useCertificate(server, options.identity);
  server.on('session', (session) => {
    session.on('error', (error) => options.logger.debug('relay.session.error', { reason: error.message }));
    guardSession(session, { ...options, door: 'relay' });
    const why = refusalOf(session.socket as TLSSocket);
    if (why === null) {
      widenConnectionWindow(session);
      keepAlive(session, session.socket, DEFAULT_KEEPALIVE, fitStreamWindow(session));
      return;
    }
    const address = session.socket.remoteAddress ?? '';
    options.logger.warn('relay.peer.refused', { address, reason: why });
    options.events.accessRefused({ code: 'CERTIFICATE_REFUSED', reason: why, address, door: 'relay' });
    session.destroy();
  });
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    if (headers[':path'] === RELAY_PATH) void serveRelayedTunnel(stream, options);
    else rejectGrpcStream(stream, GRPC_UNIMPLEMENTED, 'only tunnels are relayed here');
  });
  reportTlsErrors(server, options.logger);
  return server;
}

function refusalOf(socket: TLSSocket): string | null {
  try {
    const peer = readPeerCertificate(socket.getPeerX509Certificate()?.raw ?? new Uint8Array());
    if (isOutOfDate(peer)) return 'the certificate has expired';
    return peer.id.kind === 'gateway' ? null : 'the certificate is not a gateway’s';
  } catch (error) {
    return messageOf(error);
  }
}

/**
 * Serves one relayed tunnel from this replica's own sessions, or refuses it: one hop, so no loops. Only the Open is
 * read here; everything after it is spliced.
 */
async function serveRelayedTunnel(stream: ServerHttp2Stream, options: RelayServerOptions): Promise<void> {
  const { registry, metrics } = options;
  let span: Span | undefined;
  // Cancelled before we came to it.
  if (stream.destroyed || stream.closed) return;
  acceptGrpcStream(stream);
  const waiting = new AbortController();
  const giveUp = (): void => waiting.abort(new FairleadError('AGENT_OVERLOADED', 'the agent parked no tunnel in time'));
  const timer = setTimeout(giveUp, LIMITS.openTimeoutMs);
  // Who asked has gone: do not spend a tunnel of the agent on it.
  stream.once('close', giveUp);
  try {
    const open = await readOpen(stream, AbortSignal.timeout(LIMITS.openTimeoutMs));
    span = beginRelayed(options.tracer, open);
    const [session] = registry.of(open.clusterId);
    if (!session) throw new FairleadError('NO_SESSION', 'this replica holds no link of the cluster');
    const agentStream = await session.take(waiting.signal);
    agentStream.write(encodeControl({ case: 'open', value: open }));
    metrics.relayedTunnels.inc({ direction: 'in' });
    await reportRelayed(options, open, stream, span, (counts) => splice(stream, agentStream, counts));
  } catch (error) {
    const failure = toFairleadError(error);
    span?.end(failure.code);
    turnAway(stream, failure);
  } finally {
    clearTimeout(timer);
  }
}

/** The first frame, which must be Open and must be alone: nothing may follow before Opened. */
function readOpen(stream: ServerHttp2Stream, signal: AbortSignal): Promise<Open> {
  return new Promise((resolve, reject) => {
    const decoder = new FrameDecoder();
    const settle = (finish: () => void): void => {
      stream.removeListener('data', onData);
      stream.removeListener('close', onGone);
      stream.removeListener('end', onGone);
      signal.removeEventListener('abort', onAbort);
      stream.pause();
      finish();
    };
    const fail = (error: Error): void => settle(() => reject(error));
    const onAbort = (): void => fail(new FairleadError('DEADLINE_EXCEEDED', 'the other replica sent no Open in time'));
    const onGone = (): void =>
      fail(new FairleadError('TUNNEL_RESET', 'the other replica ended the stream before its Open'));
    const onData = (chunk: Buffer): void => {
      let open: Open | undefined;
      try {
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
      } catch (error) {
        fail(error as Error);
        return;
      }
      const found = open;
      if (found) settle(() => resolve(found));
    };
    stream.on('data', onData);
    stream.once('close', onGone);
    stream.once('end', onGone);
    signal.addEventListener('abort', onAbort, { once: true });
    stream.resume();
  });
}

/** What begins against the protocol is broken off; all else is an answer that lets the opener try elsewhere. */
function turnAway(stream: ServerHttp2Stream, { code, message }: FairleadError): void {
  if (stream.destroyed || !stream.writable) return;
  const kind =
    code === 'PROTOCOL_ERROR'
      ? ({ case: 'reset', value: { $typeName: 'fairlead.link.v1.Reset', code, message } } as const)
      : ({ case: 'refused', value: { $typeName: 'fairlead.link.v1.Refused', code, message } } as const);
  stream.write(encodeControl(kind));
  abandonStream(stream);
}
