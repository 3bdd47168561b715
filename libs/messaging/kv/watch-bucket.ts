import { createHash } from 'node:crypto';
import { fullJitterMs, systemClock } from '@fairlead/clock';
import { messageOf } from '@fairlead/errors';
import { silentLogger, type Logger } from '@fairlead/observability';
import { deferred, type NatsConnection } from '@nats-io/transport-node';
import type { z } from 'zod';
import { connectionState } from '../connection/connection-state.js';
import { inboxPrefixOf } from '../connection/inbox.js';
import { followBucket } from './bucket-feed.js';
import { MAX_VALUE_BYTES } from './put-kv.js';

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

const RETRY = { baseMs: 100, capMs: 2_000 };

export interface WatchBucketOptions<T> {
  /** Only these keys, as a subject's tokens: `gateway.>`. Default: all. */
  readonly keys?: string;
  /** Called for each change, `undefined` for a key that is gone. It must not throw. */
  readonly onChange?: (key: string, value: T | undefined) => void;
  /** Remember of each entry's text its digest alone: for a bucket of large values, which would be held twice. */
  readonly forgetTexts?: boolean;
  /**
   * What an entry that cannot be read does to its key. `keep` (default): nothing, the key keeps the value it had. `drop`: the
   * key is gone, for the bucket's owner, who writes it again.
   */
  readonly unreadable?: 'keep' | 'drop';
  /**
   * The key that the bucket's owner writes once all the others are there. A bucket without it does not count as read: `loaded` waits for it, and what
   * was known of a bucket that was lost stays until it is filled again. It is not served itself. Default: a bucket is whole as it is.
   */
  readonly completeKey?: string;
  /** Called, with `keep`, for a key that has an entry which cannot be read, and no value from before. `onChange` tells when that is over. It must not throw. */
  readonly onUnread?: (key: string) => void;
  readonly logger?: Logger;
  readonly signal?: AbortSignal;
}

/**
 * Keeps a bucket in memory. After an outage of NATS, or when the bucket was made anew, the whole bucket is read again and
 * what is no longer in it is dropped; until then the last state stays, and with `completeKey` until the bucket was filled again. Entries that do not match the schema, or are larger than 64 KiB, are logged,
 * never served, and take nothing away (see `unreadable`). Returns at once; await `loaded`.
 */
export function watchBucket<T>(
  nc: NatsConnection,
  bucket: string,
  schema: z.ZodType<T>,
  options: WatchBucketOptions<T> = {},
): KvSnapshot<T> {
  return new BucketWatch(nc, bucket, schema, options);
}

class BucketWatch<T> implements KvSnapshot<T> {
  readonly #logger: Logger;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  readonly #firstLoad = deferred<void>();
  readonly #running: Promise<void>;
  /** Value, and the text it was read from, or its digest: an unchanged text is no change. */
  readonly #entries = new Map<string, { readonly mark: string; readonly value: T }>();
  /** That have an entry, and no value. */
  readonly #unread = new Set<string>();
  isLoaded = false;
  lastSyncedAtMs: number | null = null;

  constructor(
    private readonly nc: NatsConnection,
    private readonly bucket: string,
    private readonly schema: z.ZodType<T>,
    private readonly options: WatchBucketOptions<T>,
  ) {
    this.#logger = (options.logger ?? silentLogger).with({ bucket });
    this.#signal = options.signal ? AbortSignal.any([options.signal, this.#stop.signal]) : this.#stop.signal;
    this.#running = this.#run();
  }

  get loaded(): Promise<void> {
    return this.#firstLoad;
  }

  get(key: string): T | undefined {
    return this.#entries.get(key)?.value;
  }

  *entries(): IterableIterator<[string, T]> {
    for (const [key, entry] of this.#entries) yield [key, entry.value];
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error('closed'));
    await this.#running;
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (!this.#signal.aborted && !this.nc.isClosed()) {
      try {
        await this.#connected();
        await this.#follow(() => (failures = 0));
      } catch (error) {
        if (this.#signal.aborted) break;
        this.#logger.log(failures === 0 ? 'info' : 'debug', 'kv.watch_interrupted', { reason: messageOf(error) });
        // Only the signal ends a sleep early, and the loop's condition sees that.
        await systemClock.sleep(fullJitterMs(failures, RETRY), this.#signal).catch(() => undefined);
        failures += 1;
      }
    }
  }

  /** Waits while the connection is down: asking the server for anything would only pile up in the client. */
  async #connected(): Promise<void> {
    const state = connectionState(this.nc);
    if (state.connected) return;
    const reconnected = deferred<void>();
    const onAbort = (): void => reconnected.reject(this.#signal.reason as Error);
    const unwatch = state.onChange((connected) => connected && reconnected.resolve());
    this.#signal.addEventListener('abort', onAbort, { once: true });
    try {
      await reconnected;
    } finally {
      unwatch();
      this.#signal.removeEventListener('abort', onAbort);
    }
  }

  async #follow(onHealthy: () => void): Promise<void> {
    const { completeKey, keys = '>' } = this.options;
    const seen = new Set<string>();
    let read = false;
    let complete = completeKey === undefined;
    let whole = false;
    const lookWhole = (): void => {
      if (whole || !read || !complete) return;
      whole = true;
      for (const key of [...this.#entries.keys(), ...this.#unread]) if (!seen.has(key)) this.#drop(key);
      seen.clear();
      this.#announceLoaded();
    };
    const events = {
      onEntry: (key: string, value: Uint8Array | null): void => {
        if (key === completeKey) {
          complete ||= value !== null;
          lookWhole();
          return;
        }
        if (!whole) seen.add(key);
        this.#take(key, value);
      },
      onLoaded: (): void => {
        read = true;
        lookWhole();
        onHealthy();
      },
      onSynced: (): void => {
        if (whole) this.lastSyncedAtMs = Date.now();
      },
    };
    const options = { signal: this.#signal, inboxPrefix: inboxPrefixOf(this.nc), keys };
    await followBucket(this.nc, this.bucket, events, options);
  }

  #announceLoaded(): void {
    this.#logger.info('kv.loaded', { entries: this.#entries.size });
    this.isLoaded = true;
    this.lastSyncedAtMs = Date.now();
    this.#firstLoad.resolve();
  }

  #take(key: string, bytes: Uint8Array | null): void {
    if (bytes === null) {
      this.#drop(key);
      return;
    }
    const text = decode(bytes);
    const mark = this.options.forgetTexts ? createHash('sha256').update(bytes).digest('base64') : text;
    if (mark !== null && this.#entries.get(key)?.mark === mark) return;
    const value = text === null ? undefined : this.#parse(text);
    if (mark === null || value === undefined) {
      this.#logger.warn('kv.entry_refused', { key, bytes: bytes.length });
      // What cannot be read says nothing of the key: whoever wrote it may be of another version, and the value before still counts.
      if (this.options.unreadable === 'drop') this.#drop(key);
      else if (!this.#entries.has(key)) this.#tellUnread(key);
      return;
    }
    this.#unread.delete(key);
    this.#entries.set(key, { mark, value });
    this.options.onChange?.(key, value);
  }

  #parse(text: string): T | undefined {
    try {
      return this.schema.parse(JSON.parse(text));
    } catch {
      return undefined;
    }
  }

  #tellUnread(key: string): void {
    this.#unread.add(key);
    this.options.onUnread?.(key);
  }

  #drop(key: string): void {
    const wasUnread = this.#unread.delete(key);
    if (this.#entries.delete(key) || wasUnread) this.options.onChange?.(key, undefined);
  }
}

/** Null: it is larger than a value may be, or not UTF-8. A character that was cut must not become another one in a value that is read. */
function decode(bytes: Uint8Array): string | null {
  if (bytes.length > MAX_VALUE_BYTES) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
