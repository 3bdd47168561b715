import { fullJitterMs, systemClock } from '@fairlead/clock';
import { AccessEntry, BUCKETS, ClientEntry, ClusterEntry } from '@fairlead/contracts';
import { messageOf } from '@fairlead/errors';
import { connectionState, deleteKv, putKv, watchBucket, type KvSnapshot } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import { inTransaction, withAdvisoryLock } from '@fairlead/persistence';
import type { NatsConnection } from '@nats-io/transport-node';
import type { DataSource } from 'typeorm';
import { allClients } from '../store/client-store.js';
import { allClusters } from '../store/cluster-store.js';
import { allApiTokens } from '../store/token-store.js';

const RESYNC_MS = 60_000;
const RETRY = { baseMs: 100, capMs: 5_000 };
/** Puts on their way at once. */
const PARALLEL = 64;

type Wanted<T> = ReadonlyMap<string, T>;

const unchanged = (left: unknown, right: unknown): boolean => JSON.stringify(left) === JSON.stringify(right);

export interface ProjectionOptions {
  readonly database: DataSource;
  readonly nats: NatsConnection;
  readonly logger: Logger;
}

/**
 * Keeps the buckets of clusters, access and clients equal to the tables: after each commit, when NATS came back, and every minute. The
 * tables decide: what is in a bucket and not in them is removed. Instances take turns, so that an older state never
 * overwrites a newer one. Created running; dispose of it to stop.
 */
export class Projection implements AsyncDisposable {
  readonly #options: ProjectionOptions;
  readonly #clusters: KvSnapshot<ClusterEntry>;
  readonly #access: KvSnapshot<AccessEntry>;
  readonly #clients: KvSnapshot<ClientEntry>;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  readonly #unwatch: () => void;
  #wake = new AbortController();
  #poked = false;
  /** What the last turn wanted: a key that becomes anything else was changed by somebody who should not. */
  #wanted: Wanted<unknown> = new Map();
  /** Did the buckets equal the tables at least once? */
  synced = false;

  constructor(options: ProjectionOptions) {
    const { nats, logger } = options;
    this.#options = options;
    const onChange = (key: string, value: unknown): void => this.#compare(key, value);
    this.#clusters = watchBucket(nats, BUCKETS.clusters, ClusterEntry, { logger, onChange });
    this.#access = watchBucket(nats, BUCKETS.access, AccessEntry, { logger, onChange });
    this.#clients = watchBucket(nats, BUCKETS.clients, ClientEntry, { logger, onChange });
    this.#unwatch = connectionState(nats).onChange((connected) => connected && this.poke());
    this.#running = this.#run();
  }

  /** Something was committed: look now. */
  poke(): void {
    this.#poked = true;
    this.#wake.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unwatch();
    this.#stop.abort();
    await this.#running;
    await Promise.all(this.#snapshots.map((snapshot) => snapshot.close()));
  }

  get #snapshots(): readonly KvSnapshot<unknown>[] {
    return [this.#clusters, this.#access, this.#clients];
  }

  #compare(key: string, value: unknown): void {
    if (this.synced && !unchanged(this.#wanted.get(key), value)) this.poke();
  }

  async #run(): Promise<void> {
    const aborted = new Promise<void>((resolve) => {
      this.#stop.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await Promise.race([Promise.all(this.#snapshots.map(({ loaded }) => loaded)), aborted]);
    for (let failures = 0; !this.#stop.signal.aborted;) {
      try {
        this.#poked = false;
        await this.#sync();
        failures = 0;
        if (!this.#poked) await this.#rest(RESYNC_MS, true);
      } catch (error) {
        this.#options.logger.log(failures === 0 ? 'warn' : 'debug', 'projection.delayed', { reason: messageOf(error) });
        await this.#rest(fullJitterMs(failures, RETRY));
        failures += 1;
      }
    }
  }

  /** Sleeps; stopping ends it, and a poke if it may. */
  async #rest(ms: number, wakeable = false): Promise<void> {
    if (wakeable) this.#wake = new AbortController();
    const signals = wakeable ? [this.#stop.signal, this.#wake.signal] : [this.#stop.signal];
    await systemClock.sleep(ms, AbortSignal.any(signals)).catch(() => undefined);
  }

  async #sync(): Promise<void> {
    const { database, nats, logger } = this.#options;
    const changes = await inTransaction(database, async (manager) => {
      await withAdvisoryLock(manager, 'projection');
      const clusters = new Map((await allClusters(manager)).map(toClusterEntry));
      const access = new Map((await allApiTokens(manager)).map(toAccessEntry));
      const clients = new Map((await allClients(manager)).map(toClientEntry));
      // One map for all buckets: ids are UUIDs, so no two keys are the same.
      this.#wanted = new Map<string, unknown>([...clusters, ...access, ...clients]);
      return (
        (await project(nats, BUCKETS.clusters, this.#clusters, clusters)) +
        (await project(nats, BUCKETS.access, this.#access, access)) +
        (await project(nats, BUCKETS.clients, this.#clients, clients))
      );
    });
    if (changes > 0 || !this.synced) logger.info('projection.synced', { changes });
    this.synced = true;
  }
}

/** Makes a bucket hold what is wanted, and returns how many keys that changed. */
async function project<T>(
  nats: NatsConnection,
  bucket: string,
  actual: KvSnapshot<T>,
  wanted: Wanted<T>,
): Promise<number> {
  const work: (() => Promise<void>)[] = [];
  for (const [key, value] of wanted) {
    if (!unchanged(actual.get(key), value)) work.push(() => putKv(nats, bucket, key, value));
  }
  for (const [key] of actual.entries()) if (!wanted.has(key)) work.push(() => deleteKv(nats, bucket, key));
  for (let at = 0; at < work.length; at += PARALLEL) {
    await Promise.all(work.slice(at, at + PARALLEL).map((change) => change()));
  }
  return work.length;
}

function toClusterEntry(row: Awaited<ReturnType<typeof allClusters>>[number]): [string, ClusterEntry] {
  const { id: clusterId, tenantId, name, generation } = row;
  return [`${tenantId}.${clusterId}`, ClusterEntry.parse({ tenantId, clusterId, name, generation })];
}

function toAccessEntry(row: Awaited<ReturnType<typeof allApiTokens>>[number]): [string, AccessEntry] {
  const { id: tokenId, tenantId, tokenHash, user, groups } = row;
  const expiresAt = row.expiresAt?.toISOString() ?? null;
  return [`${tenantId}.token.${tokenId}`, AccessEntry.parse({ user, groups, tenantId, tokenId, tokenHash, expiresAt })];
}

function toClientEntry(row: Awaited<ReturnType<typeof allClients>>[number]): [string, ClientEntry] {
  const { id: clientId, tenantId, name, clusterIds } = row;
  return [`${tenantId}.${clientId}`, ClientEntry.parse({ tenantId, clientId, name, clusterIds })];
}
