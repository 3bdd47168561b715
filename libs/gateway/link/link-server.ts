import { createContextValues } from '@connectrpc/connect';
import { Http2Server, type Http2Session, type Http2Stream, type RequestHead } from '@fairlead/http2';
import { RateLimitedLog, ReturningOffenders, admitInTurn } from '@fairlead/limits';
import { AgentLinkService } from '@fairlead/proto';
import { SessionCalls, createRpcServer, type CallLimits } from '@fairlead/rpc';
import { reportAbuse, reportTlsErrors, useCertificate, type AgentSession } from '@fairlead/tunnel/gateway';
import {
  CONTROL_PATH,
  EGRESS_PATH,
  TUNNEL_PATH,
  TUNNEL_SESSION_OPTIONS,
  fitStreamWindow,
  isGrpc,
  keepAlive,
  rejectGrpcStream,
  type KeepaliveOptions,
} from '@fairlead/tunnel/link';
import type { Egress } from '../doors/egress/serve-egress.js';
import { countsHere } from './admit-link.js';
import { boundUnlinked } from './unlinked-connections.js';
import { serveControl } from './control-call.js';
import { createLinkService, sessionKey, streamKey, type LinkServiceOptions } from './link-service.js';
import { rememberPeer } from './link-peer.js';

const GRPC_UNAUTHENTICATED = 16;
const GRPC_UNIMPLEMENTED = 12;
const HANDSHAKE_TIMEOUT_MS = 10_000;
/** The largest honest request is an Enrol or Renew with a long chain, some 24 KiB. */
const MAX_RPC_BYTES = 64 * 1024;
/** Of one session, its Control call among them: an agent asks one thing at a time, and renews meanwhile. */
const CALLS: CallLimits = { maxCalls: 8, maxHeldBytes: MAX_RPC_BYTES };
const MAX_CONNECTIONS = 20_000;
/** A connection that is no link by then was there for Discover, Enrol or Renew, or is up to nothing good. */
const UNLINKED_MS = 60_000;

/**
 * The agents' port: TLS, HTTP/2 only, gRPC on the wire. Tunnel, Egress and Control are served on their streams; Discover, Enrol, Renew and
 * FetchBundle by ConnectRPC. TLS asks for a client certificate but does not insist: Discover, Enrol and Renew need none.
 */
export function createLinkServer(options: LinkServiceOptions, keepalive?: KeepaliveOptions): Http2Server {
  const { logger, registry, identity } = options;
  const serveRpc = createRpcServer(MAX_RPC_BYTES, (router) =>
    router.service(AgentLinkService, createLinkService(options)),
  );
  const abuseLines = new RateLimitedLog();
  const control = { ...options, refusedLines: new RateLimitedLog() };
  const server = new Http2Server(
    {
      session: TUNNEL_SESSION_OPTIONS,
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      requestCert: true,
      rejectUnauthorized: false,
    },
    (session) => {
      const peer = rememberPeer(session, options.trustDomain);
      if (!mayStay(session, peer)) return;
      reportAbuse(session, {
        ...options,
        abuseLines,
        door: 'link',
        isUnauthenticated: () => !registry.byHttp2(session),
      });
      keepAlive(session, keepalive, fitStreamWindow(session));
      endUnlinked(session, options);
      session.once('close', (cause) => {
        if (cause) logger.debug('link.session.error', { reason: cause.message });
      });
      const calls = new SessionCalls(CALLS);
      session.on('stream', (stream, head) => {
        // It was one too many.
        if (stream.closed) return;
        if (head.path === TUNNEL_PATH) parkTunnel(options, session, stream, head);
        else if (head.path === EGRESS_PATH && options.egress) carryOut(options, options.egress, session, stream, head);
        else if (head.path === CONTROL_PATH && isGrpc(head)) {
          if (calls.admit(stream)) serveControl(control, session, stream, calls.holdFor(stream));
        } else serveRpc(stream, head, createContextValues().set(sessionKey, session).set(streamKey, stream), calls);
      });
    },
  );
  server.tls.maxConnections = MAX_CONNECTIONS;
  const offenders = new ReturningOffenders();
  admitInTurn(server.tls, { offenders });
  const mayStay = boundUnlinked(server.tls, {
    counts: (peer) => countsHere(options.directory, peer),
    offenders,
    onLinked: (listener) =>
      registry.onChange((change, { http2 }) => {
        if (change === 'opened') listener(http2);
      }),
  });
  useCertificate(server.tls, identity);
  reportTlsErrors(server.tls, logger);
  return server;
}

function endUnlinked(session: Http2Session, { registry }: LinkServiceOptions): void {
  const timer = setTimeout(() => {
    if (!registry.byHttp2(session)) session.destroy();
  }, UNLINKED_MS).unref();
  session.once('close', () => clearTimeout(timer));
}

function parkTunnel(options: LinkServiceOptions, http2: Http2Session, stream: Http2Stream, head: RequestHead): void {
  linkOf(options, http2, stream, head)?.park(stream);
}

function carryOut(
  options: LinkServiceOptions,
  egress: Egress,
  http2: Http2Session,
  stream: Http2Stream,
  head: RequestHead,
): void {
  const session = linkOf(options, http2, stream, head);
  if (session) egress.serve(session, stream);
}

/** The link that a call came on; null, and the call refused, if it is none. */
function linkOf(
  { registry }: LinkServiceOptions,
  http2: Http2Session,
  stream: Http2Stream,
  head: RequestHead,
): AgentSession | null {
  const session = registry.byHttp2(http2);
  if (session && isGrpc(head)) return session;
  if (session) rejectGrpcStream(stream, GRPC_UNIMPLEMENTED, 'expected gRPC');
  else rejectGrpcStream(stream, GRPC_UNAUTHENTICATED, 'say Hello on the Control call first');
  return null;
}
