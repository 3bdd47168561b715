import { KeyedRateLimit } from './keyed-rate-limit.js';
import { TokenBucket, type MonotonicClock, type Rate } from './token-bucket.js';

/** Of one cluster, user or client that is known. */
const KNOWN: Rate = { burst: 50, perSecond: 0.05 };
/** Of all who proved nothing: 30 days of it at full rate are a sixteenth of the stream's 512 MiB. */
const UNAUTHENTICATED: Rate = { burst: 200, perSecond: 0.02 };
/** Whose untold events are counted; of those beyond, the one heard of longest ago is forgotten. */
const MAX_COUNTED = 1_000;

/**
 * How many of the events are told that somebody outside can cause as fast as the network carries them. The unauthenticated have one rate together, so
 * that they neither push other events out of the stream nor fill the database; whoever is known has one that none of them uses up.
 */
export class RateLimitedEvents {
  readonly #clock: MonotonicClock;
  readonly #known = new KeyedRateLimit(KNOWN);
  readonly #unauthenticated: TokenBucket;
  readonly #untold = new Map<string | null, number>();

  constructor(unauthenticated: Partial<Rate> = {}, clock: MonotonicClock = { monotonicMs: () => performance.now() }) {
    this.#clock = clock;
    this.#unauthenticated = new TokenBucket({ ...UNAUTHENTICATED, ...unauthenticated }, clock.monotonicMs());
  }

  /**
   * May one more event be told? Then how many it stands for besides its own: those of the same one that were not told since the last.
   * null: it is not told, but counted. `who`: whatever names somebody who proved to be it, null for all others.
   */
  take(who: string | null): number | null {
    const nowMs = this.#clock.monotonicMs();
    const untold = this.#untold.get(who) ?? 0;
    this.#untold.delete(who);
    if (who === null ? this.#unauthenticated.take(nowMs) : this.#known.take(who, nowMs)) return untold;
    this.#untold.set(who, untold + 1);
    const oldest = this.#untold.keys().next();
    if (this.#untold.size > MAX_COUNTED && !oldest.done) this.#untold.delete(oldest.value);
    return null;
  }
}
