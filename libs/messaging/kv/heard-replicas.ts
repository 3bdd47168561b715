import { systemClock, type Clock } from '@fairlead/clock';
import { BUCKETS, GatewayHeartbeat } from '@fairlead/contracts';
import type { Logger } from '@fairlead/observability';
import type { NatsConnection } from '@nats-io/transport-node';
import { connectionState } from '../connection/connection-state.js';
import { watchBucket, type KvSnapshot } from './watch-bucket.js';

/** NATS tells that nothing is outstanding every 2 s. */
const STALE_MS = 15_000;

/** The heartbeats of gateways' replicas, and how long ago each was heard. Whether that means that one is gone, whoever asks decides: not all may take the time in which nobody could be heard alike. */
export class HeardReplicas implements AsyncDisposable {
  readonly #beats: KvSnapshot<GatewayHeartbeat>;
  readonly #heardAtMs = new Map<string, number>();
  readonly #connection: ReturnType<typeof connectionState>;
  readonly #unwatch: () => void;
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

  /** All that is said is here: connected, and told so a moment ago. */
  get isCurrent(): boolean {
    const syncedAtMs = this.#beats.lastSyncedAtMs;
    return this.#connection.connected && syncedAtMs !== null && this.clock.nowMs() - syncedAtMs < STALE_MS;
  }

  /** Since the connection came back last. */
  get listenedMs(): number {
    return this.clock.monotonicMs() - this.#listeningSinceMs;
  }

  /** The last heartbeat of each replica, and how long ago it was heard; of one that was there before anything was heard, as long as the clock runs. */
  *replicas(): Generator<{ readonly beat: GatewayHeartbeat; readonly silentMs: number }> {
    const nowMs = this.clock.monotonicMs();
    for (const [key, beat] of this.#beats.entries()) yield { beat, silentMs: nowMs - (this.#heardAtMs.get(key) ?? 0) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unwatch();
    await this.#beats.close();
  }
}
