import type { Http2ServerRequest } from 'node:http2';
import type { DoorRequest, DoorResponse } from './forward.js';
import { dropRest } from './request-rest.js';

/** Connections and sessions on which a request was let in. */
const welcomed = new WeakSet<object>();

/** Notes that whoever is at the other end of this connection may come in, as far as is known. False if that was known before. */
export function welcome(incoming: DoorRequest): boolean {
  const connection = connectionOf(incoming);
  if (!connection || welcomed.has(connection)) return false;
  welcomed.add(connection);
  return true;
}

/**
 * Sends the body of a refusal, and ends what must not stay because of it: the rest of the request, which is dropped for
 * five seconds, and the connection of somebody who was never let in on it. A stranger could hold it for ever otherwise,
 * and there is room for a limited number.
 */
export function endRefused(incoming: DoorRequest, outgoing: DoorResponse, body: string): void {
  const connection = connectionOf(incoming);
  const isStranger = connection === undefined || !welcomed.has(connection);
  if ('stream' in outgoing) {
    outgoing.end(body);
    dropRest(incoming);
    // What was asked for besides is still answered; the session ends after it.
    if (isStranger) outgoing.stream.session?.close();
    return;
  }
  if (isStranger) outgoing.setHeader('connection', 'close');
  // Complete for the client, by its length. To Node it ends later, as that would end the connection at once.
  outgoing.write(body);
  dropRest(incoming, () => void outgoing.end());
}

function connectionOf(incoming: DoorRequest): object | undefined {
  return incoming.httpVersionMajor < 2 ? incoming.socket : (incoming as Http2ServerRequest).stream.session;
}
