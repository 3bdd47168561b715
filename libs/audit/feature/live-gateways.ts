import type { Clock } from '@fairlead/clock';
import type { GatewayHeartbeat } from '@fairlead/contracts';
import { HeardReplicas } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import type { NatsConnection } from '@nats-io/transport-node';

/** Which gateways live, and since when, as their heartbeats say. */
export class LiveGateways implements AsyncDisposable {
  readonly #heard: HeardReplicas;

  constructor(nats: NatsConnection, logger: Logger, clock?: Clock) {
    this.#heard = new HeardReplicas(nats, logger, clock);
  }

  /** Is every process gone that could have begun something then under this credential? False, too, while nobody can know: then it is not said of anybody. */
  isGone(credential: string, beganAt: Date, silenceMs: number): boolean {
    if (!this.#heard.isCurrent || this.#heard.listenedMs < silenceMs) return false;
    return ![...this.#heard.replicas()].some(
      ({ beat, silentMs }) => beat.credential === credential && mayHaveBegun(beat, beganAt) && silentMs < silenceMs,
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#heard[Symbol.asyncDispose]();
  }
}

/**
 * It says when it had the spool that the one before it had until its end, so nothing that is older is its own. A clock that was set back just then may say otherwise of what was
 * begun in that moment. One of a version that does not say when it began may have begun anything.
 */
function mayHaveBegun({ startedAt }: GatewayHeartbeat, at: Date): boolean {
  return startedAt === undefined || Date.parse(startedAt) <= at.getTime();
}
