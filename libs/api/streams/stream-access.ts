import type { Clock } from '@fairlead/clock';
import { FairleadError } from '@fairlead/errors';

/** So long a stream goes on while nobody can say whether its caller still has access. */
const MAX_UNKNOWN_MS = 60_000;

/** Whether whoever began a stream may still have it. */
export class StreamAccess {
  #checkedMs: number;

  /** `admit` throws as `Admission.admit` does. It has let the caller in a moment ago. */
  constructor(
    private readonly clock: Pick<Clock, 'monotonicMs'>,
    private readonly everyMs: number,
    private readonly admit: () => Promise<unknown>,
  ) {
    this.#checkedMs = clock.monotonicMs();
  }

  /** Asks again if it is time. Throws once access has ended, or has not been confirmed for a minute. */
  async check(): Promise<void> {
    const nowMs = this.clock.monotonicMs();
    if (nowMs - this.#checkedMs < this.everyMs) return;
    try {
      await this.admit();
      this.#checkedMs = nowMs;
    } catch (error) {
      const mayPass = error instanceof FairleadError && error.kind.retryable;
      if (!mayPass || nowMs - this.#checkedMs > MAX_UNKNOWN_MS) throw error;
    }
  }
}
