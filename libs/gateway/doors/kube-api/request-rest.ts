import type { ClientRequest, IncomingMessage } from 'node:http';
import { constants, type Http2ServerRequest } from 'node:http2';
import type { Duplex } from 'node:stream';

/**
 * How long what nobody wants any more is read and dropped, and how long a refusal waits to be taken: closing at once would take the answer
 * from the client.
 */
export const LINGER_MS = 5_000;

type DoorRequest = IncomingMessage | Http2ServerRequest;

/**
 * Reads and drops what a client still sends though its request is answered. Calls back when that is over, and after five
 * seconds at the latest; whoever sends on has its stream or connection ended then.
 */
export function dropRest(incoming: DoorRequest, onOver: () => void = () => undefined): void {
  const below = carrierOf(incoming);
  if (incoming.readableEnded || below.destroyed) {
    onOver();
    return;
  }
  const settle = (): void => {
    clearTimeout(timer);
    incoming.off('end', settle);
    below.off('close', settle);
    onOver();
  };
  const timer = setTimeout(() => {
    settle();
    cutOff(incoming);
  }, LINGER_MS).unref();
  incoming.once('end', settle);
  below.once('close', settle);
  incoming.resume();
}

/**
 * An answer may be complete before its request is. Resolves when that is over as well: sent, or broken off at either end.
 * Node (24.21) does not tell a request whose answer is complete that its HTTP/1.1 connection has closed.
 */
export function whenSent(incoming: DoorRequest, upstream: ClientRequest): Promise<void> {
  return new Promise((resolve) => {
    const below = carrierOf(incoming);
    const onGone = (): void => void upstream.destroy();
    const settle = (): void => {
      below.off('close', onGone);
      upstream.off('finish', settle);
      upstream.off('close', settle);
      if (!upstream.writableFinished) {
        incoming.unpipe();
        dropRest(incoming);
      }
      resolve();
    };
    if (below.destroyed) onGone();
    if (upstream.writableFinished || upstream.destroyed) {
      settle();
      return;
    }
    below.once('close', onGone);
    upstream.once('finish', settle);
    upstream.once('close', settle);
  });
}

/** Its stream or connection: what is there for as long as its client is. */
function carrierOf(incoming: DoorRequest): Duplex {
  return incoming.httpVersionMajor < 2 ? incoming.socket : (incoming as Http2ServerRequest).stream;
}

function cutOff(incoming: DoorRequest): void {
  if (incoming.httpVersionMajor < 2) incoming.socket.destroy();
  else (incoming as Http2ServerRequest).stream.close(constants.NGHTTP2_NO_ERROR);
}
