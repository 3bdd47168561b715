import { FairleadError, toFairleadError } from '@fairlead/errors';
import { RateLimitedLog, clientAddressOf } from '@fairlead/limits';
import type { Logger } from '@fairlead/observability';
import { Catch, HttpException, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { allowedMethods } from '../contract/operation.js';
import { ALL_OPERATIONS } from '../contract/operations.js';
import type { ApiRequest } from '../http/api-request.js';
import { operationOf } from '../http/upload.js';
import { toProblem } from './to-problem.js';

interface Translated {
  readonly error: FairleadError;
  readonly status?: number;
  readonly next?: string;
  readonly allow?: string;
}

/** The one place where anything thrown becomes an answer, and where it is logged. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  readonly #lines = new RateLimitedLog();

  constructor(private readonly logger: Logger) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<ApiRequest>();
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    const { error, allow, ...options } = translate(thrown, request);
    const next = options.next ?? operationOf(request)?.next?.[error.code];
    const problem = toProblem(error, { ...options, ...(next === undefined ? {} : { next }), requestId: request.id });
    request.problemCode = problem.code;
    if (error.kind.logLevel === 'error') this.#tell(request, error);
    if (reply.sent || reply.raw.destroyed) return;
    if (allow) void reply.header('allow', allow);
    if (error.code === 'UNAUTHENTICATED') void reply.header('www-authenticate', 'Bearer realm="fairlead"');
    if (error.kind.retryable) void reply.header('retry-after', String(error.details?.retryAfterSeconds ?? 2));
    void reply.status(problem.status).type('application/problem+json').send(problem);
  }

  /** A fault of ours, which somebody unauthenticated may have found a way to: with a stack each. */
  #tell({ id, socket, principal }: ApiRequest, error: FairleadError): void {
    const line = this.#lines.next({ address: clientAddressOf(socket), user: principal?.tokenId });
    if (line) this.logger.error('api.failed', { requestId: id, code: error.code, err: error.cause ?? error, ...line });
  }
}

function translate(thrown: unknown, request: ApiRequest): Translated {
  if (thrown instanceof FairleadError) {
    // Who threw it may know better than the table does.
    const next = thrown.details?.next;
    return { error: thrown, ...(typeof next === 'string' ? { next } : {}) };
  }
  const status = thrown instanceof HttpException ? thrown.getStatus() : statusOf(thrown);
  if (status === 404) return unknownRoute(request);
  if (status === 413) return { error: new FairleadError('TOO_LARGE', 'the body is larger than 64 KiB') };
  if (status === 415) {
    const mediaType = operationOf(request)?.upload?.mediaType ?? 'application/json';
    const error = new FairleadError('INVALID_ARGUMENT', `the body is not of the type ${mediaType}`);
    return { error, status, next: `send it with "Content-Type: ${mediaType}"` };
  }
  if (status >= 400 && status < 500) {
    return { error: new FairleadError('INVALID_ARGUMENT', 'the request is not readable as HTTP with a JSON body') };
  }
  return { error: toFairleadError(thrown) };
}

/** A path that nobody serves, or serves with another method. */
function unknownRoute(request: ApiRequest): Translated {
  const path = request.url.split('?', 1)[0] ?? '';
  const allow = allowedMethods(ALL_OPERATIONS, path).join(', ');
  if (allow === '') {
    const error = new FairleadError('NOT_FOUND', 'there is nothing at this path');
    return { error, next: 'see /openapi.json for all that there is' };
  }
  const error = new FairleadError('INVALID_ARGUMENT', `this path does not serve ${request.method}`);
  return { error, status: 405, next: `use ${allow}`, allow };
}

function statusOf(thrown: unknown): number {
  const status = typeof thrown === 'object' && thrown !== null ? (thrown as { statusCode?: unknown }).statusCode : 0;
  return typeof status === 'number' ? status : 500;
}
