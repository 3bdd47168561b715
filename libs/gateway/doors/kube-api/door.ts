import { randomUUID } from 'node:crypto';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import type { Socket } from 'node:net';
import { DampedLines, Newcomers } from '@fairlead/clock';
import { messageOf, toFairleadError, type FairleadError } from '@fairlead/errors';
import { toKubeStatus, type Hop } from '@fairlead/kube-http';
import type { Logger, Tracer } from '@fairlead/observability';
import { reportTlsErrors, useCertificate, type CertificateSource } from '@fairlead/tunnel/gateway';
import type { Directory } from '../../directory.js';
import { DEFAULT_DOOR_LIMITS, DoorLimiter, type DoorLimits, type Place } from '../../limits/door-limiter.js';
import { KnownPlaces, connectionsOf, kubeApiShares } from '../../limits/door-places.js';
import type { GatewayEvents } from '../../reporting/gateway-events.js';
import type { GatewayMetrics } from '../../status/gateway-metrics.js';
import { DOOR_ABUSE_OPTIONS, guardSession, reportDoorAbuse } from '../../limits/http2-abuse.js';
import type { LiveConnections } from '../../passage/live-connections.js';
import { admit, authenticate } from './authorize.js';
import { diallerOf, tendConnections } from './door-connections.js';
import { breakOff, forward, type DoorRequest, type DoorResponse } from './forward.js';
import { comesBehindRefusal, endRefused, welcome } from './end-refused.js';
import { liveRequest, type LiveRequest } from './live-request.js';
import { beginRequestSpan, describeAdmission, endRequestSpan } from './request-span.js';
import type { TunnelPool } from './tunnel-pool.js';
import { endUnauthenticatedFloods } from './unauthenticated-connections.js';

export interface KubeApiDoorOptions {
  readonly certificate: CertificateSource;
  readonly directory: Directory;
  readonly pool: TunnelPool;
  readonly events: GatewayEvents;
  readonly metrics: GatewayMetrics;
  readonly logger: Logger;
  readonly tracer: Tracer;
  readonly live: LiveConnections;
  readonly limits?: Partial<KubeApiLimits> | undefined;
}

export interface KubeApiLimits extends DoorLimits {
  /** Connections of one user; of HTTP/2 each carries 250 requests. */
  readonly connectionsPerUser: number;
  /** How long a newcomer may take for its handshake, and everybody for the head of a request. */
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

interface ServeOptions extends KubeApiDoorOptions {
  readonly limiter: DoorLimiter;
  readonly newcomers: Newcomers;
  /** Connections on which somebody was let in, by who was the first. */
  readonly users: KnownPlaces;
  readonly lines: DampedLines;
}

const MAX_HEADER_BYTES = 64 * 1024;
const STREAM_WINDOW_BYTES = 1024 * 1024;
const TOO_MANY =
  'this user has too many connections open here: close some, or share them (HTTP/2 carries many requests on one); the limit is FAIRLEAD_KUBE_API_MAX_CONNECTIONS_PER_USER of the gateway';
/** Of a method, what is told in the log and in events: over HTTP/2 a stranger may make up one as long as a head may be. */
const MAX_TOLD_METHOD = 16;
/** What Go's server allows, which every client-go is used to. */
const MAX_STREAMS_PER_CONNECTION = 250;

/**
 * The door for kubectl, Helm and client-go: HTTPS `/clusters/<name>/…`, HTTP/1.1 and HTTP/2. Requests have no limit in
 * time or size of their own, because watches have none; header reading has.
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
  const shares = kubeApiShares(limits.connectionsPerUser);
  server.maxConnections = connectionsOf(shares);
  // Their size is limited, not their number: Node drops those beyond a thousand in silence, framing included.
  Object.assign(server, { maxHeadersCount: 0 });
  server.setTimeout(0);
  const newcomers = new Newcomers(server, shares.newcomers);
  useCertificate(server, options.certificate);
  const limiter = new DoorLimiter('kube-api', limits, options.live);
  const [lines, brokenLines, abuseLines] = [new DampedLines(), new DampedLines(), new DampedLines()];
  const users = new KnownPlaces(shares.known, TOO_MANY);
  server.on('request', (incoming, outgoing) => {
    if (comesBehindRefusal(incoming)) return;
    serve({ ...options, limiter, newcomers, users, lines }, incoming, outgoing).catch((error: unknown) => {
      // A fault of ours: it costs this request, never the process with everybody else's.
      const line = brokenLines.next({ address: diallerOf(incoming).remoteAddress ?? '' });
      if (line) options.logger.error('kube.request.broken', { reason: messageOf(error), err: error, ...line });
      breakOff(outgoing);
    });
  });
  // Headers and body are separate writes; with Nagle's algorithm the second waits 40 ms for the client's delayed ACK.
  server.on('connection', (socket: Socket) => void socket.setNoDelay(true));
  tendConnections(server);
  const abuse = { ...options, abuseLines, door: 'kube-api' } as const;
  server.on('session', (session) => guardSession(session, abuse));
  endUnauthenticatedFloods(server, (address) => reportDoorAbuse(abuse, 'unauthenticated-flood', address));
  reportTlsErrors(server, options.logger);
  return server;
}

async function serve(options: ServeOptions, incoming: DoorRequest, outgoing: DoorResponse): Promise<void> {
  const { directory, pool, metrics, logger } = options;
  const requestId = randomUUID();
  const span = beginRequestSpan(options.tracer, incoming);
  const { traceId } = span.context;
  incoming.on('error', () => undefined);
  outgoing.on('error', () => undefined);
  const method = (incoming.method ?? '').slice(0, MAX_TOLD_METHOD);
  const facts: RequestFacts = { traceId, requestId, method, address: diallerOf(incoming).remoteAddress ?? '' };
  const startedMs = performance.now();
  let place: Place | undefined;
  let live: LiveRequest | undefined;
  try {
    const principal = authenticate(directory, incoming.rawHeaders, Date.now());
    Object.assign(facts, { tenantId: principal.tenantId, user: principal.user });
    const admission = admit(directory, principal, incoming.url ?? '/', incoming.rawHeaders);
    const { cluster, identity } = admission;
    welcome(incoming, () => takeConnection(options, principal, incoming));
    Object.assign(facts, { clusterId: cluster.clusterId });
    describeAdmission(span, incoming, admission);
    place = options.limiter.take(principal.user);
    place.useCluster(cluster.clusterId);
    place.opened();
    const agent = pool.agentFor(cluster, identity);
    const exchange = { incoming, outgoing, admission, requestId, span, agent, address: facts.address };
    live = liveRequest(options, exchange);
    const status = await forward({ ...exchange, ...live });
    metrics.requests.inc({ outcome: `${Math.floor(status / 100)}xx` });
    const { up, down } = live.bytes;
    const durationMs = Math.round(performance.now() - startedMs);
    logger.info('kube.request', { ...facts, status, bytesUp: up, bytesDown: down, durationMs });
    endRequestSpan(span, status, live.bytes);
  } catch (error) {
    const failure = live?.endedBy() ?? toFairleadError(error);
    fail(options, failure, facts, incoming);
    endRequestSpan(span, failure, live?.bytes);
    answerFailure(incoming, outgoing, failure, facts);
  } finally {
    live?.forget();
    place?.release();
  }
}

/** RATE_LIMITED, and the connection ends, for one more than a user may have: they could take all that the port has. UNAVAILABLE. */
function takeConnection(
  { users, newcomers }: ServeOptions,
  { tenantId, user }: Pick<RequestFacts, 'tenantId' | 'user'>,
  incoming: DoorRequest,
): () => void {
  const giveBack = users.take(`${tenantId} ${user}`);
  newcomers.admit(diallerOf(incoming));
  return giveBack;
}

/** What is known of a request so far; the user once it is authenticated, the cluster once it was admitted. */
interface RequestFacts {
  readonly traceId: string;
  /** Unique, other than the trace, which is the caller's to choose. */
  readonly requestId: string;
  readonly method: string;
  readonly address: string;
  readonly tenantId?: string;
  readonly clusterId?: string;
  readonly user?: string;
}

/** Refusals that an auditor wants to see; the others are faults. */
const REFUSED_STATUS = new Set([400, 401, 403, 404]);

function fail(options: ServeOptions, failure: FairleadError, facts: RequestFacts, incoming: DoorRequest): void {
  const { code, message, kind, cause } = failure;
  options.metrics.requests.inc({ outcome: code });
  options.metrics.refusals.inc({ door: 'kube-api', code });
  const { address, user } = facts;
  const line = options.lines.next({ address, user: user === undefined ? user : `${facts.tenantId} ${user}` });
  if (line) {
    options.logger.log(kind.logLevel, 'kube.request.failed', {
      ...facts,
      hop: hopOf(failure, facts),
      code,
      reason: message,
      ...(code === 'INTERNAL' ? { cause: messageOf(cause) } : {}),
      ...line,
    });
  }
  if (!REFUSED_STATUS.has(kind.http)) return;
  const cluster = /^\/clusters\/([a-z0-9-]{1,63})(?:[/?]|$)/.exec(incoming.url ?? '')?.[1];
  options.events.accessRefused({ ...facts, code, reason: message, door: 'kube-api', cluster });
}

const NO_AGENT: ReadonlySet<string> = new Set(['AGENT_OFFLINE', 'AGENT_RECONNECTING', 'AGENT_OVERLOADED']);

/** Before admission, and as long as no agent was found, nobody else had a part in it. */
function hopOf({ code }: FairleadError, { clusterId }: RequestFacts): Hop {
  return clusterId === undefined || NO_AGENT.has(code) ? 'gateway' : 'agent';
}

function answerFailure(
  incoming: DoorRequest,
  outgoing: DoorResponse,
  failure: FairleadError,
  facts: RequestFacts,
): void {
  if (outgoing.headersSent || outgoing.destroyed) {
    breakOff(outgoing);
    return;
  }
  const answer = toKubeStatus(failure, hopOf(failure, facts), facts.traceId);
  const { httpStatus, retryAfterSeconds, body, warning } = answer;
  outgoing.statusCode = httpStatus;
  outgoing.setHeader('content-type', 'application/json');
  outgoing.setHeader('content-length', String(Buffer.byteLength(body)));
  outgoing.setHeader('audit-id', facts.requestId);
  outgoing.setHeader('warning', warning);
  if (retryAfterSeconds !== null) outgoing.setHeader('retry-after', String(retryAfterSeconds));
  if (httpStatus === 401) outgoing.setHeader('www-authenticate', 'Bearer realm="fairlead"');
  endRefused(incoming, outgoing, body);
}
