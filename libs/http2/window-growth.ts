/** How the windows of streams that are in a hurry grow. */
export interface WindowGrowth {
  /** A stream whose peer filled its window in less than this is held up by it: it gets twice as much. */
  readonly busyMs: number;
  /** What one stream may grow to. */
  readonly maxStreamBytes: number;
  /** What the windows of all streams of a session may grow to together. */
  readonly maxSessionBytes: number;
}

/**
 * The window of one stream as its own pace demands. What one stream may have on its way when processes take turns on a
 * busy machine is not told by the round trip of a ping; but a stream that nobody reads never gets more than it began with.
 */
export class GrowingWindow {
  #bytes = 0;
  #sinceMs = 0;
  #takenBytes = 0;

  /** As many were taken. Returns the window that the stream is to have: at least `base`. */
  taken(bytes: number, base: number, openStreams: number, growth: WindowGrowth): number {
    this.#takenBytes += bytes;
    const now = Math.max(this.#bytes, base);
    if (this.#takenBytes < now) return now;
    const nowMs = performance.now();
    const isBusy = nowMs - this.#sinceMs < growth.busyMs;
    this.#sinceMs = nowMs;
    this.#takenBytes = 0;
    const most = Math.min(growth.maxStreamBytes, growth.maxSessionBytes / Math.max(openStreams, 1));
    this.#bytes = Math.min(isBusy ? now * 2 : now, Math.max(most, base));
    return Math.max(this.#bytes, base);
  }
}
