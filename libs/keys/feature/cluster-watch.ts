import { systemClock, type Clock } from '@fairlead/clock';
import { BUCKETS, ClusterEntry } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { connectionState, watchBucket, type KvSnapshot } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import type { NatsConnection } from '@nats-io/transport-node';

/** NATS tells that nothing is outstanding every 2 s. */
const STALE_MS = 15_000;

/** Which enrolment registration has as a cluster's current one; null while nobody knows. */
export type CurrentEnrolment = (tenantId: string, clusterId: string) => number | null;

/** Is it a cluster of this tenant? UNAVAILABLE while nobody knows. */
export type BelongsTo = (tenantId: string, clusterId: string) => boolean;

/** What registration tells everybody about clusters. */
export class ClusterWatch implements AsyncDisposable {
  readonly #clusters: KvSnapshot<ClusterEntry>;
  readonly #connection: ReturnType<typeof connectionState>;

  constructor(
    nats: NatsConnection,
    logger: Logger,
    private readonly clock: Clock = systemClock,
  ) {
    this.#clusters = watchBucket(nats, BUCKETS.clusters, ClusterEntry, { logger });
    this.#connection = connectionState(nats);
  }

  /** Is it a cluster of this tenant? UNAVAILABLE whenever what is known may be old. */
  belongs(tenantId: string, clusterId: string): boolean {
    if (!this.#isFresh()) throw new FairleadError('UNAVAILABLE', 'it is not known at present whose clusters are whose');
    return this.#clusters.get(`${tenantId}.${clusterId}`) !== undefined;
  }

  /** Null, too, for a cluster that registration does not know, and whenever what is known may be old. */
  currentEnrolment(tenantId: string, clusterId: string): number | null {
    if (!this.#isFresh()) return null;
    return this.#clusters.get(`${tenantId}.${clusterId}`)?.generation ?? null;
  }

  #isFresh(): boolean {
    const syncedAtMs = this.#clusters.lastSyncedAtMs;
    if (syncedAtMs === null || !this.#connection.connected) return false;
    return this.clock.nowMs() - syncedAtMs < STALE_MS;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#clusters.close();
  }
}
