import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { FairleadError } from '@fairlead/errors';
import {
  HandshakingConnections,
  RateLimitedLog,
  acceptFromBalancers,
  type Balancers,
  type NetworkConcurrencyLimits,
} from '@fairlead/limits';
import type { Logger, Registry } from '@fairlead/observability';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiModule, type ApiModuleOptions } from './api.module.js';
import { installAccessLog } from './http/access-log.js';
import type { ApiRequest } from './http/api-request.js';
import { readRefusedBodies } from './http/refused-body.js';
import { refuseUnreadable } from './http/refuse-unreadable.js';
import { sendEtags } from './http/revisions.js';
import { acceptUploads, allowSlowAnswers } from './http/upload.js';
import { ProblemFilter } from './problem/problem-filter.js';
import { toProblem } from './problem/to-problem.js';
import type { TlsMaterial, TlsSource } from './serving/tls-material.js';

const BODY_LIMIT_BYTES = 64 * 1024;
const REQUEST_TIMEOUT_MS = 15_000;
const MAX_CONNECTIONS = 4_096;
/** Connections on which no token was accepted yet; who fetches a manifest has none. */
const UNAUTHENTICATED: NetworkConcurrencyLimits = { total: 3_072, perNetwork: 1_024 };
const TLS = { minVersion: 'TLSv1.3' } as const;
const HANDSHAKE_TIMEOUT_MS = 10_000;

export interface ApiOptions extends ApiModuleOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly tls: TlsSource;
  /** Addresses and blocks (CIDR) of the load balancers whose PROXY headers are believed, and without which nothing of theirs is taken; none: nobody's. */
  readonly balancers?: readonly string[];
  /** For a TLS handshake; default 10,000. */
  readonly handshakeTimeoutMs?: number;
  readonly logger: Logger;
  readonly registry: Registry;
}

export interface RunningApi extends AsyncDisposable {
  readonly port: number;
  /** From now on each answer ends its connection: whoever comes again may reach another replica. */
  drain(): void;
}

/** Serves the admin API over HTTPS until disposed; requests in flight are then answered first. The TLS source stays the caller's. */
export async function startApi(options: ApiOptions): Promise<RunningApi> {
  const handshakeTimeout = options.handshakeTimeoutMs ?? HANDSHAKE_TIMEOUT_MS;
  const adapter = new FastifyAdapter({
    https: { ...TLS, handshakeTimeout, ...options.tls.current },
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: 2 * REQUEST_TIMEOUT_MS,
    // A HEAD that looked like a GET would spend an import link.
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: 256 },
    genReqId: ({ headers }: IncomingMessage) => requestId(headers['x-request-id']),
    clientErrorHandler: refuseUnreadable,
    frameworkErrors: refuseUnroutable,
    forceCloseConnections: 'idle',
    // What comes on a connection that stands while it closes may be answered as well.
    return503OnClosing: false,
  });
  const app = await NestFactory.create<NestFastifyApplication>(ApiModule.with(options), adapter, {
    logger: false,
    abortOnError: false,
    bodyParser: false,
  });
  const fastify = adapter.getInstance();
  app.useGlobalFilters(new ProblemFilter(options.logger));
  const server = app.getHttpServer() as unknown as Server;
  server.maxConnections = MAX_CONNECTIONS;
  const handshaking = new HandshakingConnections(server, UNAUTHENTICATED);
  // Before the answer, which may last for hours.
  fastify.addHook('onSend', (request: ApiRequest, _reply, payload, done) => {
    if (request.principal) handshaking.admit(request.socket);
    done(null, payload);
  });
  prepare(fastify, options);
  let draining = false;
  fastify.addHook('onSend', (_request, reply, payload, done) => {
    if (draining) void reply.header('connection', 'close');
    done(null, payload);
  });
  const serveWith = (material: TlsMaterial): void => server.setSecureContext({ ...TLS, ...material });
  options.tls.onChange(serveWith);
  // It may have been renewed since the server was made.
  serveWith(options.tls.current);
  acceptFromBalancers(server, { networks: options.balancers ?? [], onRefused: tellRefused(options.logger) });
  await app.listen(options.port, options.host);
  return {
    port: (server.address() as AddressInfo).port,
    drain: () => void (draining = true),
    [Symbol.asyncDispose]: () => app.close(),
  };
}

function tellRefused(logger: Logger): Balancers['onRefused'] {
  const lines = new RateLimitedLog();
  return (reason, address) => {
    const line = lines.next({ address });
    if (line) logger.warn('proxy_protocol.refused', { reason, address, ...line });
  };
}

function prepare(fastify: FastifyInstance, { logger, registry }: ApiOptions): void {
  fastify.removeContentTypeParser('text/plain');
  fastify.addHook('onRequest', (request, reply, done) => {
    void reply.headers({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-request-id': request.id,
    });
    done();
  });
  acceptUploads(fastify);
  allowSlowAnswers(fastify);
  readRefusedBodies(fastify);
  sendEtags(fastify);
  installAccessLog(fastify, logger, registry);
}

/** The client's own id if it is harmless in a log, else a new one. */
function requestId(header: string | string[] | undefined): string {
  return typeof header === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(header) ? header : randomUUID();
}

/** A URL that cannot be decoded never reaches a route either. */
function refuseUnroutable(_error: Error, request: FastifyRequest, reply: FastifyReply): void {
  const error = new FairleadError('INVALID_ARGUMENT', 'the URL cannot be decoded');
  const problem = toProblem(error, { requestId: request.id, next: 'percent-encode the URL' });
  void reply.header('x-request-id', request.id).status(problem.status);
  void reply.type('application/problem+json').send(problem);
}
