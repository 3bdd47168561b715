import { systemClock, type Clock } from '@fairlead/clock';
import { BUCKETS, GatewayHeartbeat, type CaRotation } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { connectionState, watchBucket, type KvSnapshot } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import type { NatsConnection } from '@nats-io/transport-node';

/** A replica that was silent this long is taken for dead; three of its default leases. */
const SILENCE_MS = 45_000;
/** NATS tells that nothing is outstanding every 2 s. */
const STALE_MS = 15_000;

type Behind = CaRotation['gateways'];

/** Which replicas there are, and the trust bundle that each of them verifies by. */
export class ReplicaWatch implements AsyncDisposable {
  readonly #beats: KvSnapshot<GatewayHeartbeat>;
  readonly #heardAtMs = new Map<string, number>();
  readonly #connection: ReturnType<typeof connectionState>;
  readonly #unwatch: () => void;
  /** Time during which nothing could be heard does not count against a replica. */
  #listeningSinceMs: number;

  constructor(
    nats: NatsConnection,
    logger: Logger,
    private readonly clock: Clock = systemClock,
  ) {
    this.#listeningSinceMs = clock.monotonicMs();
    this.#beats = watchBucket(nats, BUCKETS.routes, GatewayHeartbeat, {
      keys: 'gateway.>',
      logger,
      onChange: (key, beat) => {
        if (beat) this.#heardAtMs.set(key, clock.monotonicMs());
        else this.#heardAtMs.delete(key);
      },
    });
    this.#connection = connectionState(nats);
    this.#unwatch = this.#connection.onChange((connected) => {
      if (connected) this.#listeningSinceMs = clock.monotonicMs();
    });
  }

  /** Live replicas that hold an older version. UNAVAILABLE while nobody knows. */
  behind(version: number): Behind {
    const syncedAtMs = this.#beats.lastSyncedAtMs;
    const isFresh = syncedAtMs !== null && this.clock.nowMs() - syncedAtMs < STALE_MS;
    if (!this.#connection.connected || !isFresh) {
      throw new FairleadError('UNAVAILABLE', 'which replicas there are is not known: NATS does not tell; try again');
    }
    return [...this.#beats.entries()]
      .filter(([key, beat]) => beat.trustVersion < version && this.#isLive(key))
      .map(([, { credential, instance, trustVersion }]) => ({ credential, instance, heldVersion: trustVersion }))
      .sort((a, b) => (`${a.credential} ${a.instance}` < `${b.credential} ${b.instance}` ? -1 : 1));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unwatch();
    await this.#beats.close();
  }

  #isLive(key: string): boolean {
    const heardAtMs = Math.max(this.#heardAtMs.get(key) ?? 0, this.#listeningSinceMs);
    return this.clock.monotonicMs() - heardAtMs < SILENCE_MS;
  }
}
