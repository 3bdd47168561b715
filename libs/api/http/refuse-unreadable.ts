import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { FairleadError } from '@fairlead/errors';
import { toProblem } from '../problem/to-problem.js';

/** How long somebody who is refused may take to send the rest, to read the refusal and to close. */
export const LINGER_MS = 5_000;

/**
 * Answers bytes that are no HTTP request, which never reach a route, and ends their connection, whether its client closes it or not. One
 * that failed, in its handshake too, is ended at once: what is written before a handshake has ended waits for it, for ever.
 */
export function refuseUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable) return;
  if (!isOfARequest(error.code)) {
    socket.destroy();
    return;
  }
  const refusal = new FairleadError('INVALID_ARGUMENT', 'this is not an HTTP request that can be read');
  const next = 'speak HTTP/1.1 with at most 16 KiB of headers';
  const body = JSON.stringify(toProblem(refusal, { requestId: randomUUID(), next }));
  const head = `HTTP/1.1 400 Bad Request\r\nContent-Type: application/problem+json\r\nContent-Length: ${Buffer.byteLength(body)}`;
  socket.end(`${head}\r\nConnection: close\r\n\r\n${body}`);
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(timer));
}

function isOfARequest(code: string | undefined): boolean {
  return code?.startsWith('HPE_') === true || code === 'ERR_HTTP_REQUEST_TIMEOUT';
}
