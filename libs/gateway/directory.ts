import { AccessBucketEntry, BUCKETS, ClientEntry, ClusterEntry, type AccessEntry } from '@fairlead/contracts';
import { watchBucket, type KvSnapshot } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import { hash } from 'node:crypto';
import type { NatsConnection } from '@nats-io/transport-node';
import { AccessIndex, type LetIn } from './access/access-index.js';
import type { GrantsIndex, Proven } from './access/grants-index.js';
import { GrantsDirectory } from './access/grants-directory.js';
import { Revocations } from './trust/revocations.js';
import type { TrustStore } from './trust/trust-store.js';

/** How old the snapshot may grow before this replica takes no new links, and lets nobody but the administrator in at the Kubernetes API door. */
const MAX_STALENESS_MS = 3_600_000;

/**
 * Clusters, grants, revocations and roots as this replica knows them: a snapshot in memory, so that no request waits for a database, and
 * what is known keeps working while NATS and Postgres are away.
 */
export class Directory {
  readonly #clusters: KvSnapshot<ClusterEntry>;
  readonly #accessSnapshot: KvSnapshot<AccessBucketEntry>;
  readonly #clients: KvSnapshot<ClientEntry>;
  readonly revocations: Revocations;
  readonly trust: TrustStore;
  readonly #clusterIdByName = new Map<string, string>();
  readonly #clusterById = new Map<string, ClusterEntry>();
  readonly #access = new AccessIndex();
  readonly #clientById = new Map<string, ClientEntry>();
  readonly #grants: GrantsDirectory;
  readonly #clusterListeners = new Set<(clusterId: string) => void>();

  constructor(nc: NatsConnection, trust: TrustStore, logger: Logger) {
    this.trust = trust;
    this.#clusters = watchBucket(nc, BUCKETS.clusters, ClusterEntry, {
      logger,
      onChange: (key, entry) => this.#setCluster(key, entry),
    });
    this.#accessSnapshot = watchBucket(nc, BUCKETS.access, AccessBucketEntry, {
      logger,
      onChange: (key, entry) => this.#access.set(key, entry),
    });
    this.#clients = watchBucket(nc, BUCKETS.clients, ClientEntry, {
      logger,
      onChange: (key, entry) => this.#setClient(key, entry),
    });
    this.#grants = new GrantsDirectory(nc, logger);
    this.revocations = new Revocations(nc, logger);
  }

  /** What is granted to whom, and what is locked down. */
  get grants(): GrantsIndex {
    return this.#grants.index;
  }

  /** Was everything loaded at least once? Before that, nothing can be decided. */
  get loaded(): boolean {
    return this.revocations.loaded && this.trust.loaded && this.#snapshots.every((snapshot) => snapshot.isLoaded);
  }

  /** When it last equalled the buckets, milliseconds since the epoch; null before it was loaded. */
  get syncedAtMs(): number | null {
    const times = this.#snapshots.map((snapshot) => snapshot.lastSyncedAtMs).filter((time) => time !== null);
    return times.length < this.#snapshots.length ? null : Math.min(...times);
  }

  get #snapshots(): readonly KvSnapshot<unknown>[] {
    const own = [this.#clusters, this.#accessSnapshot, this.#clients, this.#grants.snapshot];
    return [...own, this.revocations.snapshot, this.trust.snapshot];
  }

  /** Is it young enough to admit new links, and people, on? An hour without NATS is the most. */
  get fresh(): boolean {
    return isFresh(this.syncedAtMs, Date.now());
  }

  /** Calls back when a cluster was added, changed or removed. */
  onClusterChange(listener: (clusterId: string) => void): void {
    this.#clusterListeners.add(listener);
  }

  clusterByName(name: string): ClusterEntry | undefined {
    const id = this.#clusterIdByName.get(name);
    return id === undefined ? undefined : this.#clusterById.get(id);
  }

  clusterById(id: string): ClusterEntry | undefined {
    return this.#clusterById.get(id);
  }

  clientById(id: string): ClientEntry | undefined {
    return this.#clientById.get(id);
  }

  /** All of them, of every tenant. */
  clusters(): IterableIterator<ClusterEntry> {
    return this.#clusterById.values();
  }

  /** The clusters a client may reach, those that exist. */
  *clustersOf({ tenantId, clusterIds }: ClientEntry): Generator<ClusterEntry> {
    for (const id of clusterIds ?? this.#clusterById.keys()) {
      const cluster = this.#clusterById.get(id);
      if (cluster?.tenantId === tenantId) yield cluster;
    }
  }

  /**
   * Who a bearer token belongs to. What they may in a cluster their grants say; only the administrator's token has groups of its own. Looked up
   * by hash: comparing takes the same time whether or not the token is nearly right.
   */
  principalOf(bearerToken: string, nowMs: number): AccessEntry | undefined {
    return this.#access.principalOf(hash('sha256', bearerToken, 'base64'), nowMs);
  }

  /** See `AccessIndex`. */
  stillOf(who: LetIn, nowMs: number): Proven | undefined {
    return this.#access.stillOf(who, nowMs);
  }

  /** See `AccessIndex`. */
  hasEnded(who: LetIn, nowMs: number): boolean {
    return this.#access.hasEnded(who, nowMs);
  }

  #setCluster(key: string, entry: ClusterEntry | undefined): void {
    const id = key.split('.')[1] ?? '';
    const before = this.#clusterById.get(id);
    if (before && this.#clusterIdByName.get(before.name) === id) this.#clusterIdByName.delete(before.name);
    if (entry) {
      this.#clusterById.set(id, entry);
      this.#clusterIdByName.set(entry.name, id);
    } else {
      this.#clusterById.delete(id);
    }
    for (const listener of this.#clusterListeners) listener(id);
  }

  #setClient(key: string, entry: ClientEntry | undefined): void {
    const id = key.split('.')[1] ?? '';
    if (entry) this.#clientById.set(id, entry);
    else this.#clientById.delete(id);
  }
}

/** Whether what equalled the buckets at that time may still be gone by. */
export function isFresh(syncedAtMs: number | null, nowMs: number): boolean {
  return syncedAtMs !== null && nowMs - syncedAtMs < MAX_STALENESS_MS;
}
