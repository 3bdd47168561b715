/** Limits of the protocol. PROTOCOL.md states each with its reason. */
export const LIMITS = {
  /** A control frame (anything but data) larger than this breaks the protocol. */
  controlFrameBytes: 64 * 1024,
  /** What a sender puts in one data frame: what a socket gives in one read. A receiver accepts any size, because it never holds a whole one. */
  dataPayloadBytes: 65_536,
  /** What a tunnel holds of each direction before it stops its reader or its writer. */
  tunnelBufferBytes: 64 * 1024,
  /**
   * Bounds of the HTTP/2 window of one stream; the lesser one until the path's round trip is known. With the reader's
   * buffer, the most one stalled tunnel can hold at one end.
   */
  minStreamWindowBytes: 256 * 1024,
  maxStreamWindowBytes: 4 * 1024 * 1024,
  /** What the window of a stream may grow to that empties it within milliseconds, and those of a session that do so together. */
  maxGrownWindowBytes: 4 * 1024 * 1024,
  grownBytesPerSession: 8 * 1024 * 1024,
  /** What it may grow to before its reader has proved itself: one that seems fast, and then stalls, holds this. */
  unprovenWindowBytes: 1024 * 1024,
  /** Who took so much without a pause is a reader; sockets hold less for one that takes nothing. These share more. */
  provenReaderBytes: 16 * 1024 * 1024,
  provenBytesPerSession: 16 * 1024 * 1024,
  /** The rate one stream is to reach on a path with any round trip that `maxStreamWindowBytes` allows. */
  pathBytesPerSecond: 80 * 1024 * 1024,
  /** What the streams of one session share when there are many: see `streamWindow`. */
  stalledBytesPerSession: 128 * 1024 * 1024,
  /** HTTP/2 window of one connection: more than all its streams can hold, so that stalled ones do not stop the others. */
  connectionWindowBytes: 576 * 1024 * 1024,
  /** Streams of one link: parked and in use. */
  tunnelsPerLink: 1024,
  /** Streams between two replicas: the tunnels of every cluster share one session. */
  tunnelsPerRelay: 65_536,
  /** Parked tunnels that are kept ready on a busy link; an idle one has one. */
  maxSpareTunnels: 32,
  /** Openers that wait for a parked tunnel of one link; more are refused with AGENT_OVERLOADED. */
  waitingOpens: 256,
  /** How long an opener waits for a parked tunnel, and then for the answer to its Open. */
  openTimeoutMs: 10_000,
  /** How long a target of raw TCP may take to be resolved and to answer; an opener waits for that, too. */
  dialTimeoutMs: 10_000,
  /** After Reset or Refused, the stream must be gone by then, or it is cancelled. */
  lingerMs: 2_000,
} as const;
