import { constants, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { toKubeStatus } from '@fairlead/kube-http';
import { readNoMore } from '@fairlead/limits';
import type { ConnectionShares } from '../../limits/connection-shares.js';
import type { Failed } from '../../passage/outcome.js';
import type { Passage } from '../../passage/passage.js';
import { holdMs } from '../hold.js';
import { breakOff } from './forward.js';
import type { DoorRequest, DoorResponse } from './door-request.js';
import { LINGER_MS, connectionOf, dropRest } from './request-rest.js';
import { holdSession } from './session-sockets.js';

/** Tells a client, in words that it understands, who refused or broke its request; an answer that has begun is broken off. */
export function answerFailure(
  { requestId, traceId }: Passage,
  { failure, hop }: Failed,
  connections: ConnectionShares,
  incoming: DoorRequest,
  outgoing: DoorResponse,
): void {
  if (outgoing.headersSent || outgoing.destroyed) {
    breakOff(outgoing);
    return;
  }
  const from = hop === 'gateway' ? 'gateway' : 'agent';
  const { httpStatus, retryAfterSeconds, body, warning } = toKubeStatus(failure, from, traceId);
  outgoing.statusCode = httpStatus;
  outgoing.setHeader('content-type', 'application/json');
  outgoing.setHeader('content-length', String(Buffer.byteLength(body)));
  outgoing.setHeader('audit-id', requestId);
  outgoing.setHeader('warning', warning);
  if (retryAfterSeconds !== null) outgoing.setHeader('retry-after', String(retryAfterSeconds));
  if (httpStatus === 401) outgoing.setHeader('www-authenticate', 'Bearer realm="fairlead"');
  endRefused(connections, incoming, outgoing, body);
}

/** Connections of HTTP/1.1 that end with a refusal. */
const refused = new WeakSet<object>();

/** Of these, whose peers sent on before they were answered. */
const impatient = new WeakSet<object>();

/** To be called before its request is answered. */
export function noteImpatience(socket: Socket): void {
  impatient.add(socket);
}

/** Ends a connection without an answer that is still to come, in a while; nothing of it is read any more. */
export function endLater(socket: Socket): void {
  readNoMore(socket);
  const timer = setTimeout(() => socket.destroy(), holdMs()).unref();
  socket.once('close', () => clearTimeout(timer));
}

/**
 * Sends the body of a refusal, and ends what must not stay because of it: the rest of the request, which is dropped for
 * five seconds, and the connection if nobody was ever let in on it. An unauthenticated peer could hold it for ever otherwise,
 * and there is room for a limited number. Of HTTP/2 such a connection is not read any more: what came at once is answered, and it ends some seconds later.
 * Who does not take the answer within five seconds loses it, and the unauthenticated the connection.
 */
function endRefused(connections: ConnectionShares, incoming: DoorRequest, outgoing: DoorResponse, body: string): void {
  const connection = connectionOf(incoming);
  const isKnown = connection !== undefined && connections.isKnown(connection);
  if ('stream' in outgoing) {
    outgoing.end(body);
    dropRest(incoming);
    const { session } = outgoing.stream;
    // A window bounds what is not read of a body; a request that is not read may be sent again elsewhere.
    if (!isKnown && session) holdSession(session, constants.NGHTTP2_NO_ERROR);
    else endUntaken(outgoing.stream);
    return;
  }
  if (!isKnown) {
    if (!refused.has(incoming.socket)) abandonQuietly(incoming.socket);
    refused.add(incoming.socket);
    outgoing.setHeader('connection', 'close');
  }
  // Complete for the client, by its length. To Node it ends later, as that would end the connection at once.
  outgoing.write(body);
  dropRest(incoming, () => {
    if (impatient.has(incoming.socket)) endLater(incoming.socket);
    else outgoing.end();
  });
}

/**
 * When a connection closes, Node makes an error for each request that waits on it. Their stacks are for nobody, and of thousands they cost seconds
 * and hundreds of megabytes.
 */
function abandonQuietly(socket: Socket): void {
  let { stackTraceLimit } = Error;
  socket.prependOnceListener('close', () => {
    ({ stackTraceLimit } = Error);
    Error.stackTraceLimit = 0;
  });
  socket.once('close', () => (Error.stackTraceLimit = stackTraceLimit));
}

/** A client whose window is 0 takes no answer, and would hold its stream for ever. */
function endUntaken(stream: ServerHttp2Stream): void {
  const timer = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), LINGER_MS).unref();
  stream.once('close', () => clearTimeout(timer));
}
