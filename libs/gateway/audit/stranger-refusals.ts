import { systemClock, type Clock } from '@fairlead/clock';
import { NO_TENANT, type LostPassages } from '@fairlead/contracts';
import { TokenBucket, type Rate } from '@fairlead/limits';
import { causeOf, type Outcome } from '../passage/outcome.js';

/** Of all who proved nothing: a day of it at full rate is 12 MB. */
const ONE_BY_ONE: Rate = { burst: 100, perSecond: 0.2 };
/** How long those beyond are added up. */
const SUM_MS = 10_000;

/**
 * Refusals of whoever proved nothing, who can cause them as fast as the network carries them. Some are kept one by one; of the others the audit has how
 * many there were, exactly, by door and cause.
 */
export class StrangerRefusals {
  readonly #append: (sum: LostPassages) => void;
  readonly #clock: Pick<Clock, 'monotonicMs' | 'nowMs'>;
  readonly #bucket: TokenBucket;
  readonly #sums = new Map<string, { count: number; readonly sinceMs: number }>();
  #timer: NodeJS.Timeout | undefined;

  constructor(append: (sum: LostPassages) => void, clock: Pick<Clock, 'monotonicMs' | 'nowMs'> = systemClock) {
    this.#append = append;
    this.#clock = clock;
    this.#bucket = new TokenBucket(ONE_BY_ONE, clock.monotonicMs());
  }

  /** Is this one kept as it is? If not it was counted. */
  take(outcome: Outcome): boolean {
    if (this.#bucket.take(this.#clock.monotonicMs())) return true;
    const what = `${causeOf(outcome.ending)} at the door ${outcome.door}`;
    const sum = this.#sums.get(what) ?? { count: 0, sinceMs: this.#clock.nowMs() };
    sum.count += 1;
    this.#sums.set(what, sum);
    this.#timer ??= setTimeout(() => this.tell(), SUM_MS).unref();
    return false;
  }

  /** Writes down what was counted so far. */
  tell(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const [what, { count, sinceMs }] of this.#sums) {
      const at = new Date(sinceMs).toISOString();
      this.#append({ phase: 'lost', at, tenantId: NO_TENANT, count, why: `too many of nobody known: ${what}` });
    }
    this.#sums.clear();
  }
}
