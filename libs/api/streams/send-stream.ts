import { Readable } from 'node:stream';
import { toFairleadError } from '@fairlead/errors';
import type { FastifyReply } from 'fastify';
import type { ApiRequest } from '../http/api-request.js';

/** What is still on its way to a slow reader when the process ends has so long. */
const DRAIN_MS = 2_000;

export interface StreamEnds {
  /** Aborted once the process ends. */
  readonly draining: AbortSignal;
  /** Once, however it ends. */
  readonly onEnd: () => void;
}

/**
 * The body of an answer, made of pieces that are asked for one at a time, as fast as they are taken. Made once there is a first one, so that what is wrong from the start has a status of its
 * own. What breaks later resets the connection: no end is seen then. Its code is in the access log.
 */
export async function streamOf(
  request: ApiRequest,
  reply: FastifyReply,
  { draining, onEnd }: StreamEnds,
  make: (signal: AbortSignal) => AsyncGenerator<string, void, void>,
): Promise<Readable> {
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  const pieces = make(AbortSignal.any([draining, gone.signal]));
  let first: IteratorResult<string, void>;
  try {
    first = await pieces.next();
  } catch (error) {
    onEnd();
    throw error;
  }
  const stream = Readable.from(continued(first, pieces), { objectMode: false, highWaterMark: 1 });
  const giveUp = (): void => void setTimeout(() => stream.destroy(draining.reason as Error), DRAIN_MS).unref();
  draining.addEventListener('abort', giveUp, { once: true });
  stream.once('error', (error) => (request.problemCode = toFairleadError(error).code));
  stream.once('close', () => {
    draining.removeEventListener('abort', giveUp);
    gone.abort();
    onEnd();
  });
  return stream;
}

async function* continued(
  first: IteratorResult<string, void>,
  rest: AsyncGenerator<string, void, void>,
): AsyncGenerator<Buffer, void, void> {
  for (let piece = first; piece.done !== true; piece = await rest.next()) yield Buffer.from(piece.value);
}
