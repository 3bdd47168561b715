import { systemClock, type Clock } from '@fairlead/clock';
import { BUCKETS, ClusterEntry } from '@fairlead/contracts';
import { connectionState, watchBucket, type KvSnapshot } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import type { NatsConnection } from '@nats-io/transport-node';

/** NATS tells that nothing is outstanding every 2 s. */
const STALE_MS = 15_000;

/** Which enrolment registration has as a cluster's current one; null while nobody knows. */
export type CurrentEnrolment = (tenantId: string, clusterId: string) => number | null;

/** What registration tells everybody about clusters. */
export class ClusterWatch implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #clusters: KvSnapshot<ClusterEntry>;
  readonly #connection: ReturnType<typeof connectionState>;

  constructor(nats: NatsConnection, logger: Logger, clock: Clock = systemClock) {
    this.#clock = clock;
    this.#clusters = watchBucket(nats, BUCKETS.clusters, ClusterEntry, { logger });
    this.#connection = connectionState(nats);
  }

  /** Null, too, for a cluster that registration does not know, and whenever what is known may be old. */
  currentEnrolment(tenantId: string, clusterId: string): number | null {
    const syncedAtMs = this.#clusters.lastSyncedAtMs;
    const isFresh = syncedAtMs !== null && this.#clock.nowMs() - syncedAtMs < STALE_MS;
    if (!this.#connection.connected || !isFresh) return null;
    return this.#clusters.get(`${tenantId}.${clusterId}`)?.generation ?? null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#clusters.close();
  }
}
