import { fullJitterMs, systemClock } from '@fairlead/clock';
import { messageOf } from '@fairlead/errors';
import { connectionState, deleteKv, putKv, watchBucket, type KvSnapshot } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import { inTransaction, withAdvisoryLock } from '@fairlead/persistence';
import type { NatsConnection } from '@nats-io/transport-node';
import type { DataSource, EntityManager } from 'typeorm';
import type { z } from 'zod';

const RESYNC_MS = 60_000;
const RETRY = { baseMs: 100, capMs: 5_000 };
/** Puts on their way at once. */
const PARALLEL = 64;

type Desired<T> = ReadonlyMap<string, T>;

/** One bucket, and what of the tables it shows. */
export interface ProjectedBucket<T = unknown> {
  readonly bucket: string;
  /** Of its values. */
  readonly schema: z.ZodType<T>;
  /** All that it is to hold, by key. Read in a transaction that no other instance's turn runs beside. */
  readonly rows: (manager: EntityManager) => Promise<Desired<T>>;
}

const unchanged = (left: unknown, right: unknown): boolean => JSON.stringify(left) === JSON.stringify(right);

export interface ProjectionOptions {
  readonly database: DataSource;
  readonly nats: NatsConnection;
  readonly logger: Logger;
  /** Written by this service alone. */
  readonly buckets: readonly ProjectedBucket[];
}

interface Followed extends ProjectedBucket {
  readonly snapshot: KvSnapshot<unknown>;
  /** What the last round desired: a key that becomes anything else was changed by somebody who should not. */
  desired: Desired<unknown>;
}

/**
 * Keeps KV buckets equal to a service's tables: after each commit, when NATS came back, and every minute. The
 * tables decide: what is in a bucket and not in them is removed. Instances take turns, so that an older state never
 * overwrites a newer one. Created running; dispose of it to stop.
 */
export class Projection implements AsyncDisposable {
  readonly #options: ProjectionOptions;
  readonly #followed: readonly Followed[];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  readonly #unwatch: () => void;
  #wake = new AbortController();
  /** Ends even the pause after a failure: NATS is back, and what it missed may be a revocation. */
  #reconnected = new AbortController();
  #poked = false;
  /** Did the buckets equal the tables at least once? */
  synced = false;

  constructor(options: ProjectionOptions) {
    const { nats, logger, buckets } = options;
    this.#options = options;
    this.#followed = buckets.map((bucket) => {
      const onChange = (key: string, value: unknown): void => this.#compare(followed, key, value);
      const snapshot = watchBucket(nats, bucket.bucket, bucket.schema, { logger, onChange, unreadable: 'drop' });
      const followed: Followed = { ...bucket, snapshot, desired: new Map() };
      return followed;
    });
    this.#unwatch = connectionState(nats).onChange((connected) => connected && this.#onReconnected());
    this.#running = this.#run();
  }

  /** Something was committed: look now. */
  poke(): void {
    this.#poked = true;
    this.#wake.abort();
  }

  #onReconnected(): void {
    this.poke();
    this.#reconnected.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unwatch();
    this.#stop.abort();
    await this.#running;
    await Promise.all(this.#followed.map(({ snapshot }) => snapshot.close()));
  }

  #compare({ desired }: Followed, key: string, value: unknown): void {
    if (this.synced && !unchanged(desired.get(key), value)) this.poke();
  }

  async #run(): Promise<void> {
    const aborted = new Promise<void>((resolve) => {
      this.#stop.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await Promise.race([Promise.all(this.#followed.map(({ snapshot }) => snapshot.loaded)), aborted]);
    for (let failures = 0; !this.#stop.signal.aborted;) {
      try {
        this.#poked = false;
        this.#reconnected = new AbortController();
        await this.#sync();
        failures = 0;
        if (!this.#poked) await this.#rest(RESYNC_MS, true);
      } catch (error) {
        this.#options.logger.log(failures === 0 ? 'warn' : 'debug', 'projection.delayed', { reason: messageOf(error) });
        // NATS may have come back while this round failed.
        if (!this.#reconnected.signal.aborted) await this.#rest(fullJitterMs(failures, RETRY));
        failures += 1;
      }
    }
  }

  /** Sleeps; stopping ends it, and a poke if it may. */
  async #rest(ms: number, wakeable = false): Promise<void> {
    if (wakeable) this.#wake = new AbortController();
    const signals = [this.#stop.signal, this.#reconnected.signal, ...(wakeable ? [this.#wake.signal] : [])];
    await systemClock.sleep(ms, AbortSignal.any(signals)).catch(() => undefined);
  }

  async #sync(): Promise<void> {
    const { database, nats, logger } = this.#options;
    const changes = await inTransaction(database, async (manager) => {
      await withAdvisoryLock(manager, 'projection');
      let changed = 0;
      for (const followed of this.#followed) {
        followed.desired = await followed.rows(manager);
        changed += await project(nats, followed);
      }
      return changed;
    });
    if (changes > 0 || !this.synced) logger.info('projection.synced', { changes });
    this.synced = true;
  }
}

/** Makes a bucket hold what is desired, and returns how many keys that changed. */
async function project(nats: NatsConnection, { bucket, snapshot, desired }: Followed): Promise<number> {
  const work: (() => Promise<void>)[] = [];
  for (const [key, value] of desired) {
    if (!unchanged(snapshot.get(key), value)) work.push(() => putKv(nats, bucket, key, value));
  }
  for (const [key] of snapshot.entries()) if (!desired.has(key)) work.push(() => deleteKv(nats, bucket, key));
  for (let at = 0; at < work.length; at += PARALLEL) {
    await Promise.all(work.slice(at, at + PARALLEL).map((change) => change()));
  }
  return work.length;
}
