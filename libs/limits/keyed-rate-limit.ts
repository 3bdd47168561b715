import { BoundedMap } from './bounded-map.js';
import { TokenBucket, type Rate } from './token-bucket.js';

/** A token bucket for each of a bounded number of keys; the one used longest ago is forgotten first. Times are milliseconds of one clock. */
export class KeyedRateLimit {
  readonly #rate: Rate;
  readonly #buckets: BoundedMap<string, TokenBucket>;

  constructor(rate: Rate, maxKeys = 10_000) {
    this.#rate = rate;
    this.#buckets = new BoundedMap({ max: maxKeys, overflow: 'forget-oldest' });
  }

  /** Takes `count` tokens of this key, if there are so many. */
  take(key: string, nowMs: number, count = 1): boolean {
    const bucket = this.#buckets.get(key) ?? new TokenBucket(this.#rate, nowMs);
    this.#buckets.set(key, bucket);
    return bucket.take(nowMs, count);
  }

  /** How long until this key has a token; takes nothing. */
  waitMs(key: string, nowMs: number): number {
    return this.#buckets.get(key)?.waitMs(nowMs) ?? 0;
  }

  get size(): number {
    return this.#buckets.size;
  }
}
