import { constants, type Http2Session } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { holdMs } from '../hold.js';

/** What is written at its end is written within so many turns of the event loop, unless its peer takes nothing. */
const STOP_TURNS = 4;
const STOP_AGAIN_MS = 25;
/** What is said last, and the ends of streams beside it, may take so long to be written. */
const LEAVE_MS = 100;

/** Node's own: it has no other way to let a connection wait that a session has taken over. */
interface Pausable {
  readonly _handle?: { readStart(): number; readStop(): number } | null;
}

/** Node's own: how it gives a session what was read before. */
interface Receiver {
  receive(bytes: Buffer): void;
}

/** The connections below sessions: what a session shows as its socket cannot be paused or destroyed. */
const sockets = new WeakMap<Http2Session, TLSSocket>();

/** What frees each of them of what ends it. */
const held = new WeakMap<Http2Session, () => void>();

/** To be called when the session begins. */
export function noteSocket(session: Http2Session, socket: TLSSocket): void {
  sockets.set(session, socket);
}

/** Nothing more is read of it; what is to be sent is sent. */
export function stopReading(session: Http2Session): void {
  handleOf(session)?.readStop();
}

/** Gives a session what was read of its connection while it was stopped, and lets it read on. It ends with an error if Node has no way to that any more. */
export function receiveAndRead(session: Http2Session, bytes: Buffer): void {
  if (session.destroyed) return;
  const name = Object.getOwnPropertySymbols(session).find(({ description }) => description === 'kHandle');
  const receiver = name && (session as unknown as Readonly<Record<symbol, Partial<Receiver>>>)[name];
  if (!receiver?.receive) {
    session.destroy(new Error('node:http2 keeps the handle of a session elsewhere than before'));
    return;
  }
  receiver.receive(bytes);
  handleOf(session)?.readStart();
}

/** Tells its peer that it ends, with a code of RFC 9113, section 7, and ends it in a while; nothing of it is read any more. */
export function holdSession(session: Http2Session, code: number = constants.NGHTTP2_ENHANCE_YOUR_CALM): void {
  if (held.has(session) || session.destroyed) return;
  session.goaway(code);
  const end = setTimeout(() => destroySession(session, code), holdMs()).unref();
  const again = setInterval(() => stopReading(session), STOP_AGAIN_MS).unref();
  const free = (): void => {
    clearTimeout(end);
    clearInterval(again);
    held.delete(session);
  };
  held.set(session, free);
  session.once('close', free);
  stopForTurns(session, STOP_TURNS);
}

/** Node reads on by itself when it has written what it was writing. */
function stopForTurns(session: Http2Session, turns: number): void {
  if (!held.has(session)) return;
  stopReading(session);
  if (turns > 0) setImmediate(() => stopForTurns(session, turns - 1));
}

/** Somebody was let in on it after all: it ends as soon as what it was asked for is answered. */
export function releaseSession(session: Http2Session): void {
  const free = held.get(session);
  if (!free) return;
  free();
  handleOf(session)?.readStart();
  session.close();
}

/** At once. By itself, a session that was to close gently waits until its peer has taken all, even when it is destroyed. */
export function destroySession(session: Http2Session, code: number = constants.NGHTTP2_NO_ERROR): void {
  session.destroy(undefined, code);
  sockets.get(session)?.destroy();
}

/** Those that end because all of it does. */
const left = new WeakSet<Http2Session>();

/**
 * Cuts off all that goes on by it, so that its peer hears why: where a connection ends behind a GOAWAY with words (RFC 9113, section 6.8), Go's clients show these, and
 * client-go knows that end from an error of the far end. A reset of each stream would have a code and no words.
 */
export function leaveSession(session: Http2Session, why: string): void {
  if (left.has(session) || session.destroyed) return;
  left.add(session);
  session.goaway(constants.NGHTTP2_NO_ERROR, 0, Buffer.from(why));
  const end = setTimeout(() => sockets.get(session)?.destroy(), LEAVE_MS).unref();
  session.once('close', () => clearTimeout(end));
}

/** Whether all that goes on by it is being cut off with words: a reset of one of its streams would come before them. */
export function isLeft(session: Http2Session | undefined): boolean {
  return session !== undefined && left.has(session);
}

function handleOf(session: Http2Session): Pausable['_handle'] {
  return (sockets.get(session) as Pausable | undefined)?._handle;
}
