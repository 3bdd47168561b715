import { constants, type Http2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { DoorRequest, DoorResponse } from './door-request.js';
import { LINGER_MS, connectionOf, dropRest } from './request-rest.js';

/** Connections and sessions on which a request was let in. */
const welcomed = new WeakSet<object>();
/** Connections of HTTP/1.1 that end with a refusal, and how many requests came behind it. */
const refused = new WeakMap<object, number>();
const MOST_BEHIND = 16;

export function isWelcome(connection: object): boolean {
  return welcomed.has(connection);
}

/**
 * Was the connection of this request told to close by a refusal before? Then it is not looked at (RFC 9112, section 9.6); one that brings many of
 * them is ended.
 */
export function comesBehindRefusal({ socket, httpVersionMajor }: DoorRequest): boolean {
  if (httpVersionMajor >= 2) return false;
  const behind = refused.get(socket);
  if (behind === undefined) return false;
  refused.set(socket, behind + 1);
  if (behind >= MOST_BEHIND) socket.destroy();
  return true;
}

/**
 * Notes that whoever is at the other end of this connection may come in, as far as is known. The first time `take` is asked, which may refuse by
 * throwing; what it returns is called when the connection is over.
 */
export function welcome(incoming: DoorRequest, take: () => () => void): void {
  const connection = connectionOf(incoming);
  if (!connection || welcomed.has(connection)) return;
  const giveBack = take();
  welcomed.add(connection);
  if (connection.destroyed) giveBack();
  else connection.once('close', giveBack);
}

/**
 * Sends the body of a refusal, and ends what must not stay because of it: the rest of the request, which is dropped for
 * five seconds, and the connection of somebody who was never let in on it. A stranger could hold it for ever otherwise,
 * and there is room for a limited number. Who does not take the answer within five seconds loses it, and a stranger the connection.
 */
export function endRefused(incoming: DoorRequest, outgoing: DoorResponse, body: string): void {
  const connection = connectionOf(incoming);
  const isStranger = connection === undefined || !welcomed.has(connection);
  if ('stream' in outgoing) {
    outgoing.end(body);
    dropRest(incoming, (how) => {
      // What came on that stream would be read and dropped by Node until its session ends.
      if (how === 'cut off' && isStranger) outgoing.stream.session?.destroy();
    });
    endUntaken(outgoing.stream);
    if (isStranger && outgoing.stream.session) endSession(outgoing.stream.session);
    return;
  }
  if (isStranger) {
    if (!refused.has(incoming.socket)) abandonQuietly(incoming.socket);
    refused.set(incoming.socket, 0);
    outgoing.setHeader('connection', 'close');
  }
  // Complete for the client, by its length. To Node it ends later, as that would end the connection at once.
  outgoing.write(body);
  dropRest(incoming, () => void outgoing.end());
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

/** What was asked for besides is still answered; the session ends after it, or soon, if nobody is let in on it meanwhile. */
function endSession(session: Http2Session): void {
  if (session.closed) return;
  session.close();
  const timer = setTimeout(() => {
    if (!welcomed.has(session)) session.destroy();
  }, LINGER_MS).unref();
  session.once('close', () => clearTimeout(timer));
}
