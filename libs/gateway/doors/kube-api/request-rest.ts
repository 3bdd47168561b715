import type { ClientRequest } from 'node:http';
import { constants, type Http2ServerRequest, type Http2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { DoorRequest } from './door-request.js';

/**
 * How long what nobody wants any more is read and dropped, and how long a refusal waits to be taken: closing at once would take the answer
 * from the client.
 */
export const LINGER_MS = 5_000;

/** Pieces of it that are read: an honest client's are 16 KiB and more, and one that sends single bytes has each looked at. */
const MOST_PIECES = 2_000;

const dropped = new WeakMap<object, number>();

/** What was read and dropped of all requests of a connection so far. */
export function droppedBytes(connection: object): number {
  return dropped.get(connection) ?? 0;
}

/** Of HTTP/1.1 its socket; undefined if its session is gone. */
export function connectionOf(incoming: DoorRequest): Socket | Http2Session | undefined {
  return incoming.httpVersionMajor < 2 ? incoming.socket : (incoming as Http2ServerRequest).stream.session;
}

/**
 * Reads and drops what a client still sends though its request is answered. Calls back when that is over, and after five
 * seconds or 2,000 pieces at the latest; whoever sends on has its stream or connection ended then.
 */
export function dropRest(incoming: DoorRequest, onOver: (how: 'over' | 'cut off') => void = () => undefined): void {
  const below = carrierOf(incoming);
  if (incoming.readableEnded || below.destroyed) {
    onOver('over');
    return;
  }
  const settle = (): void => finish('over');
  const finish = (how: 'over' | 'cut off'): void => {
    clearTimeout(timer);
    incoming.off('data', onPiece).off('end', settle);
    below.off('close', settle);
    onOver(how);
  };
  const giveUp = (): void => {
    finish('cut off');
    cutOff(incoming);
  };
  const timer = setTimeout(giveUp, LINGER_MS).unref();
  const connection = connectionOf(incoming);
  let pieces = 0;
  const onPiece = (piece: Buffer): void => {
    if (connection) dropped.set(connection, droppedBytes(connection) + piece.length);
    pieces += 1;
    if (pieces >= MOST_PIECES) giveUp();
  };
  incoming.once('end', settle);
  below.once('close', settle);
  incoming.on('data', onPiece);
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
