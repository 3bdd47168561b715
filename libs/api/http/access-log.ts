import type { Logger, Registry } from '@fairlead/observability';
import { Histogram } from '@fairlead/observability';
import type { FastifyInstance } from 'fastify';
import type { ApiRequest } from './api-request.js';

/**
 * One line and one observation per request. The route's template stands for the URL: paths can hold secrets, and their
 * number has no bound.
 */
export function installAccessLog(server: FastifyInstance, logger: Logger, registry: Registry): void {
  const seconds = new Histogram({
    name: 'fairlead_api_request_duration_seconds',
    help: 'Time to answer a request of the admin API.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10],
    registers: [registry],
  });
  server.addHook('onResponse', (request: ApiRequest, reply, done) => {
    const route = request.routeOptions.url ?? 'unknown';
    const method = KNOWN_METHODS.has(request.method) ? request.method : 'other';
    seconds.observe({ method, route, status: String(reply.statusCode) }, reply.elapsedTime / 1_000);
    logger.info('api.request', {
      requestId: request.id,
      method,
      route,
      status: reply.statusCode,
      durationMs: Math.round(reply.elapsedTime),
      remoteAddress: request.ip,
      ...(request.principal ? { user: request.principal.user, tokenId: request.principal.tokenId } : {}),
      ...(request.problemCode ? { code: request.problemCode } : {}),
    });
    done();
  });
}

const KNOWN_METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
