import { Readable } from 'node:stream';
import { FairleadError } from '@fairlead/errors';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { routedOperation, type Operation } from '../contract/operation.js';
import { ALL_OPERATIONS } from '../contract/operations.js';
import type { ApiRequest } from './api-request.js';

/** Lets operations that take a file have its body as a stream; everywhere else such a body is refused as before. */
export function acceptUploads(server: FastifyInstance): void {
  const mediaTypes = ALL_OPERATIONS.flatMap(({ upload }) => (upload ? [upload.mediaType] : []));
  for (const mediaType of new Set(mediaTypes)) {
    server.addContentTypeParser(mediaType, (request: FastifyRequest, body: Readable, done) => {
      if (operationOf(request)?.upload?.mediaType === mediaType) done(null, body);
      else done(Object.assign(new Error('not of a type that is taken here'), { statusCode: 415 }));
    });
  }
}

/** Lets a connection wait for answers that take longer than others; with the next request on it the usual deadline is back. */
export function allowSlowAnswers(server: FastifyInstance): void {
  server.addHook('preHandler', (request, _reply, done) => {
    const withinMs = operationOf(request)?.answersWithinMs;
    if (withinMs !== undefined) request.raw.socket.setTimeout(withinMs);
    done();
  });
}

/** Which operation a request was routed to. */
export function operationOf(request: FastifyRequest): Operation | undefined {
  return routedOperation(ALL_OPERATIONS, request.method, request.routeOptions.url);
}

/** How long the body is to be. INVALID_ARGUMENT if it is not said; TOO_LARGE. */
export function announcedBytes({ headers }: ApiRequest, { maxBytes }: NonNullable<Operation['upload']>): number {
  const text = headers['content-length'] ?? '';
  if (!/^[1-9]\d{0,14}$/.test(text)) {
    throw new FairleadError(
      'INVALID_ARGUMENT',
      'the request has no body, or no Content-Length that says how long it is',
    );
  }
  if (Number(text) > maxBytes) throw new FairleadError('TOO_LARGE', `the body is larger than ${maxBytes} bytes`);
  return Number(text);
}

/** The body as it arrives. */
export function bodyStream({ body }: ApiRequest): Readable {
  if (body instanceof Readable) return body;
  throw new FairleadError('INVALID_ARGUMENT', 'the body is not of the type that this operation takes');
}
