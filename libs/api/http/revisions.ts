import type { IncomingHttpHeaders } from 'node:http';
import type { Expecting } from '@fairlead/contracts';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { FairleadError } from '@fairlead/errors';
import type { FastifyInstance } from 'fastify';
import { requestOf } from './serve.js';
import { operationOf } from './upload.js';

/** Sends the revision of what is answered as its ETag, where the operation says so. */
export function sendEtags(server: FastifyInstance): void {
  server.addHook('preSerialization', (request, reply, payload, done) => {
    const revision = operationOf(request)?.etag ? revisionIn(payload) : undefined;
    if (revision !== undefined) void reply.header('etag', `"${revision}"`);
    done(null, payload);
  });
}

export type Expected = Expecting['ifRevision'];

/** What the thing has to be at present, as the request says it: a revision; null: it must not be there; undefined: anything. */
export const IfRevision = createParamDecorator((_: undefined, context: ExecutionContext) =>
  expectedRevision(requestOf(context).headers),
);

/** INVALID_ARGUMENT unless it is one ETag in If-Match, or `*` in If-None-Match (https://www.rfc-editor.org/rfc/rfc9110#section-13). */
export function expectedRevision(headers: IncomingHttpHeaders): Expected {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers;
  if (match === undefined && noneMatch === undefined) return undefined;
  if (match === undefined && noneMatch === '*') return null;
  const [, revision] = /^"([\x21\x23-\x7e]{1,64})"$/.exec(match ?? '') ?? [];
  if (revision !== undefined && noneMatch === undefined) return revision;
  throw new FairleadError(
    'INVALID_ARGUMENT',
    'send one ETag with its quotation marks in If-Match, or * in If-None-Match, and not both',
  );
}

function revisionIn(payload: unknown): string | undefined {
  const revision = typeof payload === 'object' && payload !== null && 'revision' in payload ? payload.revision : null;
  // Empty: of a service that is older than revisions.
  return typeof revision === 'string' && revision !== '' ? revision : undefined;
}
