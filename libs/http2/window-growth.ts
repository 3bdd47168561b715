/** How the windows of streams that are in a hurry grow. */
export interface WindowGrowth {
  /** A stream whose peer filled its window in less than this is held up by it: it gets twice as much. */
  readonly busyMs: number;
  /** What the window of a reader that proved itself may grow to. */
  readonly maxStreamBytes: number;
  /** The same before it has: what it then does not read, we hold. */
  readonly maxUnprovenStreamBytes: number;
  /** What the windows of a session's streams may grow to together, of those that were ever in such a hurry. */
  readonly maxSessionBytes: number;
  /**
   * A reader that takes nothing at all seems to be in a hurry until the sockets behind us are full. One that took more
   * than they can hold is a reader.
   */
  readonly provenBytes: number;
  /** What such readers share instead. */
  readonly maxProvenBytes: number;
}

/** A reader that paused for so long has to prove itself again. */
const PAUSE_MS = 1_000;

/** Of one session: those that were ever in a hurry share what windows may grow to, and idle ones take nothing away. */
export class Hurry {
  /** Open streams that were. */
  streams = 0;
}

/**
 * The window of one stream as its own pace demands. What one stream may have on its way when processes take turns on a
 * busy machine is not told by the round trip of a ping; but a stream that nobody reads never gets more than it began with.
 */
export class GrowingWindow {
  #bytes = 0;
  #sinceMs = 0;
  #takenBytes = 0;
  #provenBytes = 0;
  #hurries = false;

  /** As many were taken. Returns the window that the stream is to have: at least `base`. */
  taken(bytes: number, base: number, hurry: Hurry, growth: WindowGrowth): number {
    this.#takenBytes += bytes;
    const now = Math.max(this.#bytes, base);
    if (this.#takenBytes < now) return now;
    const nowMs = performance.now();
    const tookMs = nowMs - this.#sinceMs;
    const isBusy = tookMs < growth.busyMs;
    this.#provenBytes = tookMs < PAUSE_MS ? this.#provenBytes + this.#takenBytes : 0;
    this.#sinceMs = nowMs;
    this.#takenBytes = 0;
    if (isBusy) this.#join(hurry);
    this.#bytes = Math.min(isBusy ? now * 2 : now, Math.max(this.#most(hurry, growth), base));
    return Math.max(this.#bytes, base);
  }

  /** The stream is gone. */
  leave(hurry: Hurry): void {
    if (this.#hurries) hurry.streams -= 1;
    this.#hurries = false;
  }

  #join(hurry: Hurry): void {
    if (this.#hurries) return;
    this.#hurries = true;
    hurry.streams += 1;
  }

  #most(hurry: Hurry, growth: WindowGrowth): number {
    const { maxStreamBytes, maxUnprovenStreamBytes, maxSessionBytes, maxProvenBytes, provenBytes } = growth;
    const streams = Math.max(hurry.streams, 1);
    if (this.#provenBytes < provenBytes) return Math.min(maxUnprovenStreamBytes, maxSessionBytes / streams);
    return Math.min(maxStreamBytes, maxProvenBytes / streams);
  }
}
