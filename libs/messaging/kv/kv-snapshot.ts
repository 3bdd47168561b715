/** A NATS KV bucket held in memory. It stays readable, and only grows old, while NATS is away. */
export interface KvSnapshot<T> {
  /** Resolves once the whole bucket was read for the first time. */
  readonly loaded: Promise<void>;
  readonly isLoaded: boolean;
  /** When the snapshot was last known to equal the bucket, milliseconds since the epoch; null before the first time. */
  readonly lastSyncedAtMs: number | null;
  get(key: string): T | undefined;
  entries(): IterableIterator<[string, T]>;
  close(): Promise<void>;
}
