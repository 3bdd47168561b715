import { BUCKETS, ClusterEntry } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { watchBucket, type KvSnapshot } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import type { NatsConnection } from '@nats-io/transport-node';

/** The clusters of all tenants, by name, as registration tells of them. Dispose of it to stop. */
export class KnownClusters implements AsyncDisposable {
  readonly #snapshot: KvSnapshot<ClusterEntry>;
  readonly #byName = new Map<string, ClusterEntry>();
  readonly #nameOfKey = new Map<string, string>();
  #changes = 0;

  constructor(nats: NatsConnection, logger: Logger) {
    const onChange = (key: string, entry: ClusterEntry | undefined): void => this.#change(key, entry);
    this.#snapshot = watchBucket(nats, BUCKETS.clusters, ClusterEntry, { logger, onChange });
  }

  /** Another number once anything of any cluster has changed. */
  get changes(): number {
    return this.#changes;
  }

  get loaded(): Promise<void> {
    return this.#snapshot.loaded;
  }

  /** Undefined also while NATS has not been heard yet. */
  find(tenantId: string, name: string): ClusterEntry | undefined {
    return this.#byName.get(`${tenantId}.${name}`);
  }

  /** NOT_FOUND; UNAVAILABLE while NATS has not been heard yet. */
  get(tenantId: string, name: string): ClusterEntry {
    this.#assertLoaded();
    const entry = this.find(tenantId, name);
    if (!entry) throw new FairleadError('NOT_FOUND', `there is no cluster named ${name}`);
    return entry;
  }

  /** Of one tenant. UNAVAILABLE while NATS has not been heard yet. */
  all(tenantId: string): ClusterEntry[] {
    this.#assertLoaded();
    return [...this.#byName.values()].filter((entry) => entry.tenantId === tenantId);
  }

  /** Of each tenant; null while NATS has not been heard yet. */
  byTenant(): ReadonlyMap<string, readonly ClusterEntry[]> | null {
    if (!this.#snapshot.isLoaded) return null;
    const tenants = new Map<string, ClusterEntry[]>();
    for (const entry of this.#byName.values()) {
      const known = tenants.get(entry.tenantId);
      if (known) known.push(entry);
      else tenants.set(entry.tenantId, [entry]);
    }
    return tenants;
  }

  #assertLoaded(): void {
    if (!this.#snapshot.isLoaded) throw new FairleadError('UNAVAILABLE', 'which clusters there are is not known yet');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#snapshot.close();
  }

  #change(key: string, entry: ClusterEntry | undefined): void {
    this.#changes += 1;
    const before = this.#nameOfKey.get(key);
    // Another cluster may have taken the name by now.
    if (before !== undefined && this.#keyOf(before) === key) this.#byName.delete(before);
    this.#nameOfKey.delete(key);
    if (!entry) return;
    const name = `${entry.tenantId}.${entry.name}`;
    this.#byName.set(name, entry);
    this.#nameOfKey.set(key, name);
  }

  #keyOf(name: string): string | undefined {
    const entry = this.#byName.get(name);
    return entry && `${entry.tenantId}.${entry.clusterId}`;
  }
}
