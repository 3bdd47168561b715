import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { FastifyInstance } from 'fastify';

/** What is still on its way of a body that is refused is read for so long. */
const LINGER_MS = 3_000;

/** Reads away, for a moment, what comes of a body that nobody takes: whoever is still sending does not read the answer. */
export async function readAway(body: Readable): Promise<void> {
  body.resume();
  // It broke off, or goes on: there is nothing to be done about either.
  await finished(body, { writable: false, signal: AbortSignal.timeout(LINGER_MS) }).catch(() => undefined);
}

/**
 * Answers that a body is too large when it has come: the answer ends the connection, and whoever still sends on one that is closed hears of
 * that alone (RFC 9112, section 9.6).
 */
export function readAwayTooLarge(server: FastifyInstance): void {
  server.addHook('onSend', async (request, reply, payload) => {
    if (reply.statusCode === 413 && !request.raw.complete) await readAway(request.raw);
    return payload;
  });
}
