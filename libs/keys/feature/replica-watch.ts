import type { Clock } from '@fairlead/clock';
import type { CaRotation } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { HeardReplicas } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import type { NatsConnection } from '@nats-io/transport-node';

/** A replica that was silent this long is taken for dead; three of its default leases. */
const SILENCE_MS = 45_000;

type Behind = CaRotation['gateways'];

/** Which replicas there are, and the trust bundle that each of them verifies by. */
export class ReplicaWatch implements AsyncDisposable {
  readonly #heard: HeardReplicas;

  constructor(nats: NatsConnection, logger: Logger, clock?: Clock) {
    this.#heard = new HeardReplicas(nats, logger, clock);
  }

  /** Live replicas that hold an older version. UNAVAILABLE while nobody knows. */
  behind(version: number): Behind {
    if (!this.#heard.isCurrent) {
      throw new FairleadError('UNAVAILABLE', 'which replicas there are is not known: NATS does not tell; try again');
    }
    // Time during which nothing could be heard does not count against a replica.
    const { listenedMs } = this.#heard;
    return [...this.#heard.replicas()]
      .filter(({ beat, silentMs }) => beat.trustVersion < version && Math.min(silentMs, listenedMs) < SILENCE_MS)
      .map(({ beat: { credential, instance, trustVersion } }) => ({ credential, instance, heldVersion: trustVersion }))
      .sort((a, b) => (`${a.credential} ${a.instance}` < `${b.credential} ${b.instance}` ? -1 : 1));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#heard[Symbol.asyncDispose]();
  }
}
