import {
  Http2ServerRequest,
  Http2ServerResponse,
  createSecureServer,
  type Http2SecureServer,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { createContextValues } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import type { Logger } from '@fairlead/observability';
import { AgentLinkService } from '@fairlead/proto';
import {
  TUNNEL_PATH,
  TUNNEL_SESSION_OPTIONS,
  fitStreamWindow,
  isGrpc,
  keepAlive,
  rejectGrpcStream,
  type KeepaliveOptions,
} from '../link/index.js';
import { LINK_ABUSE_OPTIONS, guardSession } from './http2-abuse.js';
import { admitInTurn } from './admit-in-turn.js';
import { createLinkService, sessionKey, type LinkServiceOptions } from './link-service.js';
import { rememberPeer } from './link-peer.js';
import type { RenewingCertificate } from './renewing-certificate.js';

const GRPC_UNAUTHENTICATED = 16;
const GRPC_UNIMPLEMENTED = 12;
const HANDSHAKE_TIMEOUT_MS = 10_000;
const MAX_RPC_BYTES = 128 * 1024;
const MAX_CONNECTIONS = 20_000;
/** A connection that is no link by then was there for Discover, Enrol or Renew, or is up to nothing good. */
const STRANGER_MS = 60_000;

/**
 * The agents' door: one TLS port, HTTP/2 only, gRPC on the wire. Tunnel calls go straight to their session; every other
 * call is served by ConnectRPC. TLS asks for a client certificate but does not insist: Discover and Enrol need none.
 */
export function createLinkServer(options: LinkServiceOptions, keepalive?: KeepaliveOptions): Http2SecureServer {
  const handleRpc = connectNodeAdapter({
    connect: false,
    grpcWeb: false,
    readMaxBytes: MAX_RPC_BYTES,
    routes: (router) => router.service(AgentLinkService, createLinkService(options)),
    contextValues: (request) =>
      createContextValues().set(sessionKey, 'stream' in request ? request.stream.session : undefined),
  });
  const server = createSecureServer({
    ...TUNNEL_SESSION_OPTIONS,
    ...LINK_ABUSE_OPTIONS,
    minVersion: 'TLSv1.3',
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    requestCert: true,
    rejectUnauthorized: false,
  });
  server.maxConnections = MAX_CONNECTIONS;
  admitInTurn(server);
  useCertificate(server, options.identity);
  server.on('session', (session) => {
    rememberPeer(session);
    guardSession(session, { ...options, door: 'link', isStranger: () => !options.registry.byHttp2(session) });
    keepAlive(session, session.socket, keepalive, fitStreamWindow(session));
    endStrangers(session, options);
    session.on('error', (error) => options.logger.debug('link.session.error', { reason: error.message }));
  });
  server.on(
    'stream',
    (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: number, rawHeaders: string[]) => {
      if (headers[':path'] === TUNNEL_PATH) parkTunnel(options, stream, headers);
      else handleRpc(new Http2ServerRequest(stream, headers, {}, rawHeaders), new Http2ServerResponse(stream));
    },
  );
  reportTlsErrors(server, options.logger);
  return server;
}

function endStrangers(session: Http2Session, { registry }: LinkServiceOptions): void {
  const timer = setTimeout(() => {
    if (!registry.byHttp2(session)) session.destroy();
  }, STRANGER_MS).unref();
  session.once('close', () => clearTimeout(timer));
}

/** Applies each new certificate to new connections; those that stand are not touched. */
export function useCertificate(server: Http2SecureServer, certificate: RenewingCertificate): void {
  certificate.onChange(({ keyPem, chainPem, rootsPem }) => {
    server.setSecureContext({ key: keyPem, cert: chainPem.join('\n'), ca: [...rootsPem], minVersion: 'TLSv1.3' });
  });
}

export function reportTlsErrors(server: Http2SecureServer, logger: Logger): void {
  server.on('tlsClientError', (error, socket) => {
    logger.info('tls.handshake.failed', { reason: error.message, address: socket.remoteAddress });
  });
  server.on('sessionError', (error: Error) => logger.debug('http2.session.error', { reason: error.message }));
}

function parkTunnel(options: LinkServiceOptions, stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
  const session = options.registry.byHttp2(stream.session as Http2Session);
  if (!isGrpc(headers)) rejectGrpcStream(stream, GRPC_UNIMPLEMENTED, 'expected gRPC');
  else if (!session) rejectGrpcStream(stream, GRPC_UNAUTHENTICATED, 'say Hello on the Control call first');
  else session.park(stream);
}
