import type { Http2Session } from '@fairlead/http2';
import { streamWindow } from '../core/index.js';

const windows = new WeakMap<Http2Session, PathWindow>();

/** Keeps a session's stream window fitted to its path; tell the result what each ping took, in milliseconds. */
export function fitStreamWindow(session: Http2Session): (roundTripMs: number) => void {
  const window = new PathWindow(session);
  windows.set(session, window);
  session.on('stream', () => window.oneMore());
  return (roundTripMs) => window.roundTrip(roundTripMs);
}

/** To be called after each stream of our own: those that are open share the session's window. */
export function shareWindow(session: Http2Session): void {
  windows.get(session)?.oneMore();
}

/**
 * One session's stream window: from the least round trip seen, because a longer one only tells of load, and from how
 * many streams are open.
 */
class PathWindow {
  readonly #session: Http2Session;
  #leastMs = Number.POSITIVE_INFINITY;
  #bytes: number | null = null;

  constructor(session: Http2Session) {
    this.#session = session;
  }

  roundTrip(ms: number): void {
    this.#leastMs = Math.min(this.#leastMs, ms);
    this.#fit();
  }

  /** More streams may make it smaller at once. It grows again with the next ping, so that it does not flap. */
  oneMore(): void {
    if (this.#bytes !== null && this.#fitting < this.#bytes) this.#fit();
  }

  get #fitting(): number {
    return streamWindow(this.#leastMs, this.#session.streams.size);
  }

  #fit(): void {
    if (this.#leastMs === Number.POSITIVE_INFINITY || this.#session.closed) return;
    const bytes = this.#fitting;
    if (bytes === this.#bytes) return;
    this.#bytes = bytes;
    this.#session.setStreamWindow(bytes);
  }
}
