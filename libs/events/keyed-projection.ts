import { createHash } from 'node:crypto';
import { FairleadError, messageOf } from '@fairlead/errors';
import { RunLoop } from '@fairlead/loop';
import { connectionState, deleteKv, putKv, watchBucket, type KvSnapshot } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import { inTransaction, readFrom, withAdvisoryLock } from '@fairlead/persistence';
import type { NatsConnection } from '@nats-io/transport-node';
import type { DataSource, EntityManager } from 'typeorm';
import { z } from 'zod';
import { anyChanged, takeChanged } from './changed-keys.js';

/** Without being told: another instance may have ended between its commit and its next round. */
const POLL_MS = 1_000;
const RETRY = { baseMs: 100, capMs: 5_000 };
/** Looks at everything, in case something was missed. */
const SWEEP_EVERY_MS = 600_000;
/** Changed keys of one round. */
const BATCH = 250;
/** Keys of one piece of a sweep: few, so that a change never waits long behind it. */
const PIECE = 50;
/** Puts on their way at once. */
const PARALLEL = 64;

/** A bucket that is too large to be made from its tables at each change. */
export interface KeyedBucket {
  readonly bucket: string;
  /** Written once all the others are there: a bucket that was lost is not taken for whole while it is filled again. */
  readonly completeKey: string;
  /** The values of these keys by the tables; what is left out is to be no key of the bucket. */
  readonly valuesOf: (manager: EntityManager, keys: readonly string[]) => Promise<ReadonlyMap<string, unknown>>;
  /** The next keys that have a value, after this one in an order that never changes; fewer than the limit are the last ones. */
  readonly keysAfter: (manager: EntityManager, after: string, limit: number) => Promise<readonly string[]>;
}

export interface KeyedProjectionOptions {
  readonly database: DataSource;
  readonly nats: NatsConnection;
  readonly logger: Logger;
  /** Written by this service alone; its changes are told by `markChanged`. */
  readonly bucket: KeyedBucket;
}

/** SHA-256 of a value as it is stored: all that is remembered of each. */
const Digest = z.unknown().transform(digestOf);

function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64');
}

interface Sweep {
  after: string;
  readonly seen: Set<string>;
}

const newSweep = (): Sweep => ({ after: '', seen: new Set() });

/**
 * Keeps one KV bucket equal to a service's tables, key by key: those that `markChanged` named since, in order, and those that somebody else changed.
 * All of them are looked at when it begins and every ten minutes, in pieces between which changes pass. Instances take turns, so that an older value
 * never overwrites a newer one. Created running; dispose of it to stop.
 */
export class KeyedProjection implements AsyncDisposable {
  readonly #options: KeyedProjectionOptions;
  readonly #snapshot: KvSnapshot<string>;
  readonly #loop: RunLoop;
  readonly #unwatch: () => void;
  /** Digests of what the tables said last: a key that becomes anything else was changed by somebody else. */
  readonly #desired = new Map<string, string>();
  /** To be looked at, though nobody marked them. */
  readonly #suspect = new Set<string>();
  #sweep: Sweep | null = newSweep();
  #sweepAtMs = 0;
  /** Did the bucket equal the tables at least once? */
  synced = false;

  constructor(options: KeyedProjectionOptions) {
    this.#options = options;
    const { nats, logger, bucket } = options;
    this.#snapshot = watchBucket(nats, bucket.bucket, Digest, {
      logger,
      forgetTexts: true,
      unreadable: 'drop',
      onChange: (key, digest) => this.#observe(key, digest),
    });
    // Even out of the pause after a failure: what NATS missed may be a revocation.
    this.#unwatch = connectionState(nats).onChange((connected) => connected && this.poke());
    this.#loop = this.#start();
  }

  /** Something was committed: look now. */
  poke(): void {
    this.#loop.wake();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unwatch();
    await this.#loop[Symbol.asyncDispose]();
    await this.#snapshot.close();
  }

  #observe(key: string, digest: string | undefined): void {
    if (key === this.#options.bucket.completeKey) {
      // The bucket was lost, or another version of us does not know this key: it is written once all has been looked at.
      if (digest === undefined && this.#snapshot.isLoaded) this.#sweep ??= newSweep();
      return;
    }
    if (!this.#snapshot.isLoaded || this.#desired.get(key) === digest) return;
    this.#suspect.add(key);
    this.poke();
  }

  #start(): RunLoop {
    const { logger } = this.#options;
    void this.#snapshot.loaded.then(() => this.poke());
    return new RunLoop({
      intervalMs: POLL_MS,
      retry: RETRY,
      onFailed: (error, { before }) =>
        logger.log(before === 0 ? 'warn' : 'debug', 'projection.delayed', { reason: messageOf(error) }),
      work: async () => ((await this.#reconcileOnce()) ? 0 : undefined),
    });
  }

  /** True if there is more to do at once. Changes go before the next piece of a sweep, and need not wait until the bucket was read. */
  async #reconcileOnce(): Promise<boolean> {
    // A transaction that waits for NATS would keep the other instances waiting.
    if (!connectionState(this.#options.nats).connected) throw new FairleadError('UNAVAILABLE', 'NATS is away');
    if (await this.#takeChanges()) return true;
    if (!this.#snapshot.isLoaded) return false;
    if (this.#sweep === null && performance.now() >= this.#sweepAtMs) this.#sweep = newSweep();
    if (this.#sweep !== null) return this.#sweepOn(this.#sweep);
    // Meanwhile the bucket may have been lost, which is told of each key.
    if (this.#suspect.size > 0) return true;
    await this.#sayComplete();
    if (!this.synced) this.#options.logger.info('projection.synced', { bucket: this.#options.bucket.bucket });
    this.synced = true;
    return false;
  }

  /** True if there may be more of them. */
  async #takeChanges(): Promise<boolean> {
    const { database, bucket } = this.#options;
    const suspects = [...this.#suspect].slice(0, BATCH);
    if (suspects.length === 0 && !(await readFrom(database, (manager) => anyChanged(manager, bucket.bucket))))
      return false;
    // One that is changed again from now on has to be looked at again.
    for (const key of suspects) this.#suspect.delete(key);
    try {
      await this.#inTurn(async (manager) => {
        const marked = await takeChanged(manager, bucket.bucket, BATCH);
        await this.#bring(manager, [...new Set([...marked, ...suspects])]);
      });
    } catch (error) {
      for (const key of suspects) this.#suspect.add(key);
      throw error;
    }
    return true;
  }

  /** The next piece; at its end, what the bucket has and no table knows is to be looked at. True: there is more to do. */
  async #sweepOn(sweep: Sweep): Promise<boolean> {
    const keys = await this.#inTurn(async (manager) => {
      const next = await this.#options.bucket.keysAfter(manager, sweep.after, PIECE);
      await this.#bring(manager, next);
      return next;
    });
    for (const key of keys) sweep.seen.add(key);
    sweep.after = keys.at(-1) ?? sweep.after;
    if (keys.length === PIECE) return true;
    for (const [key] of this.#snapshot.entries()) {
      if (key !== this.#options.bucket.completeKey && !sweep.seen.has(key)) this.#suspect.add(key);
    }
    this.#sweep = null;
    this.#sweepAtMs = performance.now() + SWEEP_EVERY_MS;
    return true;
  }

  async #sayComplete(): Promise<void> {
    const { nats, bucket } = this.#options;
    if (this.#snapshot.get(bucket.completeKey) === undefined) await putKv(nats, bucket.bucket, bucket.completeKey, {});
  }

  #inTurn<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    return inTransaction(this.#options.database, async (manager) => {
      await withAdvisoryLock(manager, `projection:${this.#options.bucket.bucket}`);
      return work(manager);
    });
  }

  /** Makes the bucket hold what the tables say of these keys. */
  async #bring(manager: EntityManager, keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return;
    const values = await this.#options.bucket.valuesOf(manager, keys);
    const work: (() => Promise<void>)[] = [];
    for (const key of keys) {
      const value = values.get(key);
      const digest = value === undefined ? undefined : digestOf(value);
      if (digest === undefined) this.#desired.delete(key);
      else this.#desired.set(key, digest);
      if (this.#snapshot.isLoaded && this.#snapshot.get(key) === digest) continue;
      work.push(() => this.#write(key, value));
    }
    for (let at = 0; at < work.length; at += PARALLEL) {
      await Promise.all(work.slice(at, at + PARALLEL).map((change) => change()));
    }
  }

  /** What no reader would take keeps no other key from its value; whoever fills the tables has to see to it that there is none. */
  async #write(key: string, value: unknown): Promise<void> {
    const { nats, bucket, logger } = this.#options;
    try {
      await (value === undefined ? deleteKv(nats, bucket.bucket, key) : putKv(nats, bucket.bucket, key, value));
    } catch (error) {
      if (!(error instanceof FairleadError) || error.code !== 'TOO_LARGE') throw error;
      logger.error('projection.value_refused', { bucket: bucket.bucket, key, reason: error.message });
    }
  }
}
