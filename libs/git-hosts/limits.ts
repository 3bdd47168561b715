/** What one Git host may cost us. */
export interface Limits {
  /** For one request and its whole answer. */
  readonly requestTimeoutMs: number;
  /** For a call of the port, however many requests it takes. */
  readonly callTimeoutMs: number;
  /** Of one answer's body. */
  readonly maxBodyBytes: number;
  /** Of one list; the host's pages have 50 or 100 entries. */
  readonly maxPages: number;
  readonly maxEntries: number;
  /** Requests under way or waiting; the next one is refused. */
  readonly maxPending: number;
  /** Of a request that may be repeated (GET, DELETE). */
  readonly maxAttempts: number;
  /** Full jitter around these. */
  readonly retryBaseMs: number;
  readonly retryCapMs: number;
  /** Repeats over all calls: so many at once, then one in so many milliseconds. */
  readonly retryBurst: number;
  readonly retryEveryMs: number;
}

export const DEFAULT_LIMITS: Limits = {
  requestTimeoutMs: 15_000,
  callTimeoutMs: 60_000,
  maxBodyBytes: 2 * 1024 * 1024,
  maxPages: 50,
  maxEntries: 5_000,
  maxPending: 64,
  maxAttempts: 3,
  retryBaseMs: 300,
  retryCapMs: 5_000,
  retryBurst: 10,
  retryEveryMs: 10_000,
};
