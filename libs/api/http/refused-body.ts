import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LINGER_MS } from './refuse-unreadable.js';
import { operationOf } from './upload.js';

/**
 * Sends the answer to a body that is not taken when the body has come, or after a moment: nothing after it could be read, so the answer ends
 * the connection, and whoever still sends on one that is closed hears of that alone (RFC 9112, section 9.6).
 */
export function readRefusedBodies(server: FastifyInstance): void {
  server.addHook('onSend', async (request, reply, payload) => {
    if (!isRefusedOnItsWay(request, reply)) return payload;
    await readAway(request.raw);
    if (!request.raw.complete) void reply.header('connection', 'close');
    return payload;
  });
}

/** It is too large, of a type that is not taken, or a file that was begun and not read to its end. */
function isRefusedOnItsWay(request: FastifyRequest, { statusCode }: FastifyReply): boolean {
  const { complete, readableDidRead } = request.raw;
  return (
    !complete && ([413, 415].includes(statusCode) || (readableDidRead && operationOf(request)?.upload !== undefined))
  );
}

async function readAway(body: Readable): Promise<void> {
  body.resume();
  // It broke off, or goes on: there is nothing to be done about either.
  await finished(body, { writable: false, signal: AbortSignal.timeout(LINGER_MS) }).catch(() => undefined);
}
