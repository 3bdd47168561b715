import { systemClock, type Clock } from '@fairlead/clock';
import type { Logger } from '@fairlead/observability';

/** Less is not worth a word: gateways tell whole seconds, and what comes may have waited. */
const WORTH_A_WARNING_MS = 30_000;
/** By how much it has to change to be said again. */
const CHANGED_MS = 60_000;

/**
 * Compares this agent's clock with those of its gateways. Beyond some minutes certificates that are good look as if they
 * were not valid yet, or any more; it is said once before that, and again when it changes.
 */
export class ClockSkew {
  readonly #logger: Logger;
  readonly #clock: Pick<Clock, 'nowMs'>;
  /** What was said last; null: that there is none, or nothing. */
  #saidMs: number | null = null;

  constructor(logger: Logger, clock: Pick<Clock, 'nowMs'> = systemClock) {
    this.#logger = logger;
    this.#clock = clock;
  }

  /** A gateway said just now what time it is there, in milliseconds since the epoch. */
  saw(gatewayMs: number): void {
    const skewMs = this.#clock.nowMs() - gatewayMs;
    const skewSeconds = Math.round(skewMs / 1_000);
    if (Math.abs(skewMs) < WORTH_A_WARNING_MS) {
      if (this.#saidMs !== null) this.#logger.info('agent.clock.agrees', { skewSeconds });
      this.#saidMs = null;
    } else if (this.#saidMs === null || Math.abs(skewMs - this.#saidMs) >= CHANGED_MS) {
      this.#saidMs = skewMs;
      const direction = skewMs > 0 ? 'ahead of' : 'behind';
      const reason = `this clock is ${Math.abs(skewSeconds)} s ${direction} a gateway’s`;
      this.#logger.warn('agent.clock.skewed', { skewSeconds, reason, next: 'set the node’s clock by NTP' });
    }
  }
}
