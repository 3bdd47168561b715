import { RateLimitedLog, clientAddressOf } from '@fairlead/limits';
import type { Logger, Registry } from '@fairlead/observability';
import { Histogram } from '@fairlead/observability';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { AdministratorUse } from '../auth/administrator-use.js';
import type { ApiRequest } from './api-request.js';
import { operationOf } from './upload.js';

/**
 * One line and one observation per request. The route's template stands for the URL: paths can hold secrets, and their
 * number has no bound. Of requests that nobody's token came with, a line as often as `RateLimitedLog` has it.
 */
export function installAccessLog(server: FastifyInstance, logger: Logger, registry: Registry): void {
  const seconds = new Histogram({
    name: 'fairlead_api_request_duration_seconds',
    help: 'Time to answer a request of the admin API.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10],
    registers: [registry],
  });
  const lines = new RateLimitedLog();
  const administratorUse = new AdministratorUse(() => performance.now());
  server.addHook('onResponse', (request: ApiRequest, reply, done) => {
    const route = request.routeOptions.url ?? 'unknown';
    const method = KNOWN_METHODS.has(request.method) ? request.method : 'other';
    // How long somebody listens is no time to answer.
    if (!isStream(request))
      seconds.observe({ method, route, status: String(reply.statusCode) }, reply.elapsedTime / 1_000);
    // Whoever was let in has a line for each.
    const line = request.principal ? {} : lines.next({ address: clientAddressOf(request.socket) });
    if (line) logger.info('api.request', { ...describe(request, reply), method, route, ...line });
    const suppressed = request.principal ? administratorUse.next(request.principal) : null;
    if (suppressed !== null) {
      logger.warn('api.administrator_token_used', { ...describe(request, reply), method, route, suppressed });
    }
    done();
  });
}

function isStream(request: ApiRequest): boolean {
  return operationOf(request)?.answers.some(({ kind }) => kind === 'stream') ?? false;
}

function describe(request: ApiRequest, { statusCode, elapsedTime }: FastifyReply): Record<string, unknown> {
  const { id, socket, principal, problemCode } = request;
  return {
    requestId: id,
    status: statusCode,
    durationMs: Math.round(elapsedTime),
    remoteAddress: clientAddressOf(socket),
    ...(principal ? { user: principal.user, tokenId: principal.tokenId } : {}),
    ...(problemCode ? { code: problemCode } : {}),
  };
}

const KNOWN_METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
