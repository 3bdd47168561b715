import { randomUUID } from 'node:crypto';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import { FairleadError, messageOf, toFairleadError } from '@fairlead/errors';
import type { Logger } from '@fairlead/observability';
import { toKubeStatus, type Hop } from '../../core/index.js';
import type { Directory } from '../directory.js';
import type { GatewayEvents } from '../gateway-events.js';
import type { GatewayMetrics } from '../gateway-metrics.js';
import { reportTlsErrors, useCertificate } from '../link-server.js';
import type { RenewingCertificate } from '../renewing-certificate.js';
import { admit } from './authorize.js';
import { forward, type DoorRequest, type DoorResponse } from './forward.js';
import type { TunnelPool } from './tunnel-pool.js';

export interface KubeApiDoorOptions {
  readonly certificate: RenewingCertificate;
  readonly directory: Directory;
  readonly pool: TunnelPool;
  readonly events: GatewayEvents;
  readonly metrics: GatewayMetrics;
  readonly logger: Logger;
}

const HEADERS_TIMEOUT_MS = 10_000;
const MAX_HEADER_BYTES = 64 * 1024;
const STREAM_WINDOW_BYTES = 1024 * 1024;
const MAX_CONNECTIONS = 10_000;

/**
 * The door for kubectl, Helm and client-go: HTTPS `/clusters/<name>/…`, HTTP/1.1 and HTTP/2. Requests have no limit in
 * time or size of their own, because watches have none; header reading has.
 */
export function createKubeApiDoor(options: KubeApiDoorOptions): Http2SecureServer {
  const server = createSecureServer({
    allowHTTP1: true,
    minVersion: 'TLSv1.3',
    handshakeTimeout: HEADERS_TIMEOUT_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    settings: { initialWindowSize: STREAM_WINDOW_BYTES, maxHeaderListSize: MAX_HEADER_BYTES, enablePush: false },
    requestTimeout: 0,
    headersTimeout: HEADERS_TIMEOUT_MS,
    keepAliveTimeout: 120_000,
  } as Parameters<typeof createSecureServer>[0]);
  server.maxConnections = MAX_CONNECTIONS;
  server.setTimeout(0);
  useCertificate(server, options.certificate);
  server.on('request', (incoming, outgoing) => void serve(options, incoming, outgoing));
  server.on('upgrade', (_request, socket) => {
    // Upgrades arrive with a later version; until then the client is told, in words it understands.
    const refusal = new FairleadError(
      'INVALID_ARGUMENT',
      'this gateway does not carry exec, attach or port-forward yet',
    );
    const { httpStatus, body } = toKubeStatus(refusal, 'gateway', randomUUID());
    socket.end(
      `HTTP/1.1 ${httpStatus} Bad Request\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    );
  });
  reportTlsErrors(server, options.logger);
  return server;
}

async function serve(options: KubeApiDoorOptions, incoming: DoorRequest, outgoing: DoorResponse): Promise<void> {
  const { directory, pool, metrics, logger } = options;
  const traceId = randomUUID();
  incoming.on('error', () => undefined);
  outgoing.on('error', () => undefined);
  let hop: Hop = 'gateway';
  const facts: Record<string, unknown> = { traceId, method: incoming.method, address: incoming.socket.remoteAddress };
  const startedMs = performance.now();
  try {
    const admission = admit(directory, incoming.url ?? '/', incoming.rawHeaders, Date.now());
    Object.assign(facts, { clusterId: admission.cluster.clusterId, user: admission.principal.user });
    hop = 'agent';
    const agent = pool.agentFor(admission.cluster, admission.identity);
    const status = await forward({ incoming, outgoing, admission, traceId, agent });
    metrics.requests.inc({ outcome: `${Math.floor(status / 100)}xx` });
    logger.info('kube.request', { ...facts, status, durationMs: Math.round(performance.now() - startedMs) });
  } catch (error) {
    const failure = toFairleadError(error);
    metrics.requests.inc({ outcome: failure.code });
    logger.log(failure.kind.logLevel, 'kube.request.failed', {
      ...facts,
      hop,
      code: failure.code,
      reason: failure.message,
      ...(failure.code === 'INTERNAL' ? { cause: messageOf(failure.cause) } : {}),
    });
    if (hop === 'gateway') report(options.events, failure, incoming);
    answerFailure(outgoing, failure, hop, traceId);
  }
}

function report(events: GatewayEvents, { code, message }: FairleadError, incoming: DoorRequest): void {
  const cluster = /^\/clusters\/([a-z0-9-]{1,63})(?:[/?]|$)/.exec(incoming.url ?? '')?.[1];
  const address = incoming.socket.remoteAddress ?? '';
  events.accessRefused({ code, reason: message, address, door: 'kube-api', cluster, method: incoming.method });
}

function answerFailure(outgoing: DoorResponse, failure: FairleadError, hop: Hop, traceId: string): void {
  if (outgoing.headersSent || outgoing.destroyed) {
    outgoing.destroy();
    return;
  }
  const { httpStatus, retryAfterSeconds, body, warning } = toKubeStatus(failure, hop, traceId);
  outgoing.statusCode = httpStatus;
  outgoing.setHeader('content-type', 'application/json');
  outgoing.setHeader('audit-id', traceId);
  outgoing.setHeader('warning', warning);
  if (retryAfterSeconds !== null) outgoing.setHeader('retry-after', String(retryAfterSeconds));
  if (httpStatus === 401) outgoing.setHeader('www-authenticate', 'Bearer realm="fairlead"');
  outgoing.end(body);
}
