import type { IncomingMessage } from 'node:http';
import { constants, createSecureServer, type Http2SecureServer, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { SignedTime, StatementVerifier } from '@fairlead/access-statement';
import { messageOf } from '@fairlead/errors';
import { RateLimitedLog, admitInTurn, clientAddressOf } from '@fairlead/limits';
import { reportTlsErrors, useCertificate, type CertificateSource } from '@fairlead/tunnel/gateway';
import { noteRefusedHandshakes } from '../../audit/refused-handshakes.js';
import type { Directory } from '../../directory.js';
import { DEFAULT_DOOR_LIMITS, type DoorLimits } from '../../limits/door-limiter.js';
import { ConnectionShares, kubeApiShares } from '../../limits/connection-shares.js';
import { DOOR_ABUSE_OPTIONS, guardSession, reportDoorAbuse } from '../../limits/http2-abuse.js';
import { DoorPassages, type PassageOptions } from '../../passage/door-passages.js';
import { diallerOf, tendConnections } from './door-connections.js';
import { FirstHeads } from './first-head.js';
import type { DoorRequest } from './door-request.js';
import { breakOff } from './forward.js';
import { serveRequest, type KubeApiContext } from './serve-request.js';
import { serveUpgrade } from './serve-upgrade.js';
import { destroySession, holdSession } from './session-sockets.js';
import type { TunnelPools } from './tunnel-pools.js';
import { endUnauthenticatedFloods } from './unauthenticated-connections.js';

export interface KubeApiDoorOptions extends PassageOptions {
  readonly certificate: CertificateSource;
  readonly directory: Directory;
  readonly pool: TunnelPools;
  readonly limits?: Partial<KubeApiLimits> | undefined;
  /** Below which each cluster has a host name, in lower case; undefined: nowhere. */
  readonly clusterDomain?: string | undefined;
}

export interface KubeApiLimits extends DoorLimits {
  /** Connections of one user; of HTTP/2 each carries 250 requests. */
  readonly connectionsPerUser: number;
  /** How long a peer may take for its handshake, and everybody for the head of a request. */
  readonly headersTimeoutMs: number;
}

/** Controllers of many clusters come as one user, with a watch for each kind of object. */
export const DEFAULT_KUBE_API_LIMITS: KubeApiLimits = {
  ...DEFAULT_DOOR_LIMITS,
  total: 50_000,
  connectionsPerUser: 4_000,
  headersTimeoutMs: 10_000,
  perIdentity: { ...DEFAULT_DOOR_LIMITS.perIdentity, connections: 20_000 },
};

const MAX_HEADER_BYTES = 64 * 1024;
const STREAM_WINDOW_BYTES = 1024 * 1024;
const TOO_MANY =
  'this user has too many connections open here: close some, or share them (HTTP/2 carries many requests on one); the limit is FAIRLEAD_KUBE_API_MAX_CONNECTIONS_PER_USER of the gateway';
/** What Go's server allows, which every client-go is used to. */
const MAX_STREAMS_PER_CONNECTION = 250;

/**
 * The door for kubectl, Helm and client-go: HTTPS `/clusters/<name>/…`, or `<name>.<cluster domain>` where there is one, HTTP/1.1 and HTTP/2.
 * Requests have no limit in time or size of their own, because watches have none; header reading has.
 */
export function createKubeApiDoor(options: KubeApiDoorOptions): Http2SecureServer {
  const limits = { ...DEFAULT_KUBE_API_LIMITS, ...options.limits };
  const { headersTimeoutMs } = limits;
  const server = createSecureServer({
    allowHTTP1: true,
    ...DOOR_ABUSE_OPTIONS,
    minVersion: 'TLSv1.3',
    handshakeTimeout: headersTimeoutMs,
    maxHeaderSize: MAX_HEADER_BYTES,
    settings: {
      initialWindowSize: STREAM_WINDOW_BYTES,
      maxHeaderListSize: MAX_HEADER_BYTES,
      maxConcurrentStreams: MAX_STREAMS_PER_CONNECTION,
      enablePush: false,
    },
    requestTimeout: 0,
    headersTimeout: headersTimeoutMs,
    connectionsCheckingInterval: headersTimeoutMs / 2,
    keepAliveTimeout: 120_000,
  } as Parameters<typeof createSecureServer>[0]);
  // In this order: each of them is between Node and whoever comes after it.
  admitInTurn(server);
  const [brokenLines, abuseLines] = [new RateLimitedLog(), new RateLimitedLog()];
  const abuse = { ...options, abuseLines, door: 'kube-api' } as const;
  const onFlood = (address: string): void => reportDoorAbuse(abuse, 'unauthenticated-flood', address);
  const firstHeads = new FirstHeads(server, { headersTimeoutMs, maxHeaderBytes: MAX_HEADER_BYTES }, onFlood);
  const connections = new ConnectionShares(server, kubeApiShares(limits.connectionsPerUser), TOO_MANY);
  // Their size is limited, not their number: Node drops those beyond a thousand in silence, framing included.
  Object.assign(server, { maxHeadersCount: 0 });
  server.setTimeout(0);
  useCertificate(server, options.certificate);
  const context: KubeApiContext = {
    ...options,
    passages: new DoorPassages('kube-api', limits, options),
    statements: verifierFor(options.directory),
    connections,
  };
  // A fault of ours: it costs this request, never the process with everybody else's.
  const tellBroken = (error: unknown, incoming: DoorRequest): void => {
    const line = brokenLines.next({ address: clientAddressOf(diallerOf(incoming)) });
    if (line) options.logger.error('kube.request.broken', { reason: messageOf(error), err: error, ...line });
  };
  server.on('request', (incoming, outgoing) => {
    if (firstHeads.comesBehindRefusal(incoming)) return;
    serveRequest(context, incoming, outgoing).catch((error: unknown) => {
      tellBroken(error, incoming);
      breakOff(outgoing);
    });
    firstHeads.decided(incoming, connections);
  });
  server.on('upgrade', (incoming: IncomingMessage, socket: Duplex, early: Buffer) => {
    serveUpgrade(context, incoming, socket, early).catch((error: unknown) => {
      tellBroken(error, incoming);
      socket.destroy();
    });
    firstHeads.decided(incoming, connections);
  });
  // Headers and body are separate writes; with Nagle's algorithm the second waits 40 ms for the client's delayed ACK.
  server.on('connection', (socket: Socket) => void socket.setNoDelay(true));
  tendConnections(server);
  const end = (session: ServerHttp2Session): void => {
    if (connections.isKnown(session)) destroySession(session, constants.NGHTTP2_ENHANCE_YOUR_CALM);
    else holdSession(session);
  };
  server.on('session', (session) => guardSession(session, { ...abuse, end }));
  endUnauthenticatedFloods(server, connections, onFlood);
  reportTlsErrors(server, options.logger);
  noteRefusedHandshakes(server, options.audit, 'kube-api');
  return server;
}

/** Before this replica has heard whom to trust. */
const NOBODY = { rootsPem: [], trustDomain: '' };

function verifierFor({ trust }: Directory): StatementVerifier {
  return new StatementVerifier({ trust: () => trust.held ?? NOBODY, time: new SignedTime(Date.now) });
}
