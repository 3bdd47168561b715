import { constants, type Http2Session } from 'node:http2';
import type { TLSSocket } from 'node:tls';

/** How long an offender keeps its connection, which nobody reads: it would dial anew at once, and each handshake costs more than its answer. */
export const HOLD_MS = 3_000;

/** Node's own: it has no other way to let a connection wait that a session has taken over. */
interface Readable {
  readonly _handle?: { readStop(): number } | null;
}

/** The connections below sessions: what a session shows as its socket cannot be paused or destroyed. */
const sockets = new WeakMap<Http2Session, TLSSocket>();

const held = new WeakSet<Http2Session>();

/** To be called when the session begins. */
export function noteSocket(session: Http2Session, socket: TLSSocket): void {
  sockets.set(session, socket);
}

/** Nothing more is read of it; what is to be sent is sent. */
export function stopReading(session: Http2Session): void {
  (sockets.get(session) as Readable | undefined)?._handle?.readStop();
}

/** Ends it for what its peer did, in a while; nothing of it is read any more. */
export function holdSession(session: Http2Session): void {
  if (held.has(session)) return;
  held.add(session);
  stopReading(session);
  const timer = setTimeout(() => destroySession(session, constants.NGHTTP2_ENHANCE_YOUR_CALM), HOLD_MS).unref();
  session.once('close', () => clearTimeout(timer));
}

/** At once. By itself, a session that was to close gently waits until its peer has taken all, even when it is destroyed. */
export function destroySession(session: Http2Session, code: number = constants.NGHTTP2_NO_ERROR): void {
  session.destroy(undefined, code);
  sockets.get(session)?.destroy();
}
