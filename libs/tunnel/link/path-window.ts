import type { Http2Session, Http2Stream } from 'node:http2';
import { streamWindow } from '../core/index.js';

const windows = new WeakMap<Http2Session, PathWindow>();

/** Keeps a session's stream window fitted to its path; tell the result what each ping took, in milliseconds. */
export function fitStreamWindow(session: Http2Session): (roundTripMs: number) => void {
  const window = new PathWindow(session);
  windows.set(session, window);
  return (roundTripMs) => window.roundTrip(roundTripMs);
}

/** Counts a stream among those that share their session's window, for as long as it is there. */
export function shareWindow(stream: Http2Stream): void {
  const window = stream.session && windows.get(stream.session);
  if (!window) return;
  window.streams(1);
  stream.once('close', () => window.streams(-1));
}

/**
 * One session's stream window: from the least round trip seen, because a longer one only tells of load, and from how
 * many streams are open. Node has one window for all streams of a session; a change reaches those that are open, too
 * (RFC 9113, 6.9.2).
 */
class PathWindow {
  readonly #session: Http2Session;
  #leastMs = Number.POSITIVE_INFINITY;
  #openStreams = 0;
  #bytes: number | null = null;

  constructor(session: Http2Session) {
    this.#session = session;
  }

  roundTrip(ms: number): void {
    this.#leastMs = Math.min(this.#leastMs, ms);
    this.#fit();
  }

  /** More streams may make it smaller at once. It grows again with the next ping, so that it does not flap. */
  streams(more: number): void {
    this.#openStreams += more;
    if (more > 0 && this.#bytes !== null && streamWindow(this.#leastMs, this.#openStreams) < this.#bytes) this.#fit();
  }

  #fit(): void {
    if (this.#leastMs === Number.POSITIVE_INFINITY || this.#session.destroyed || this.#session.closed) return;
    const bytes = streamWindow(this.#leastMs, this.#openStreams);
    if (bytes === this.#bytes) return;
    this.#bytes = bytes;
    this.#session.settings({ initialWindowSize: bytes });
  }
}
