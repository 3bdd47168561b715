import { systemClock, type Clock } from '@fairlead/clock';
import { BUCKETS, GatewayHeartbeat } from '@fairlead/contracts';
import { connectionState, watchBucket, type KvSnapshot } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import type { NatsConnection } from '@nats-io/transport-node';

/** NATS tells that nothing is outstanding every 2 s. */
const STALE_MS = 15_000;
/**
 * A clock may have been set back between a beginning and an intent of the same process. Less than what a process waits for the spool of one that was killed (five seconds
 * from that one's last sign of life, which it gives each second): what that one began would never be settled otherwise.
 */
const SKEW_MS = 1_000;

/** Which gateways live, and since when, as their heartbeats say. */
export class LiveGateways implements AsyncDisposable {
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

  /** Is every process gone that could have begun something then under this credential? False, too, while nobody can know: then it is not said of anybody. */
  isGone(credential: string, beganAt: Date, silenceMs: number): boolean {
    const syncedAtMs = this.#beats.lastSyncedAtMs;
    const isFresh = syncedAtMs !== null && this.clock.nowMs() - syncedAtMs < STALE_MS;
    const listenedMs = this.clock.monotonicMs() - this.#listeningSinceMs;
    if (!this.#connection.connected || !isFresh || listenedMs < silenceMs) return false;
    return ![...this.#beats.entries()].some(
      ([key, beat]) => beat.credential === credential && mayHaveBegun(beat, beganAt) && this.#isHeard(key, silenceMs),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unwatch();
    await this.#beats.close();
  }

  #isHeard(key: string, silenceMs: number): boolean {
    return this.clock.monotonicMs() - (this.#heardAtMs.get(key) ?? 0) < silenceMs;
  }
}

/** One of a version that does not say when it began may have begun anything. */
function mayHaveBegun({ startedAt }: GatewayHeartbeat, at: Date): boolean {
  return startedAt === undefined || Date.parse(startedAt) - SKEW_MS <= at.getTime();
}
