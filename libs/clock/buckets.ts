import { TokenBucket, type Rate } from './token-bucket.js';

/** A token bucket for each of a bounded number of keys; the one used longest ago is forgotten first. */
export class Buckets {
  readonly #rate: Rate;
  readonly #max: number;
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(rate: Rate, maxKeys = 10_000) {
    this.#rate = rate;
    this.#max = maxKeys;
  }

  /** Takes `count` tokens of this key, if there are so many. */
  take(key: string, nowMs: number, count = 1): boolean {
    return this.#used(key, nowMs).take(nowMs, count);
  }

  /** How long until this key has a token. */
  waitMs(key: string, nowMs: number): number {
    return this.#buckets.get(key)?.waitMs(nowMs) ?? 0;
  }

  get size(): number {
    return this.#buckets.size;
  }

  #used(key: string, nowMs: number): TokenBucket {
    const bucket = this.#buckets.get(key) ?? new TokenBucket(this.#rate, nowMs);
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    const oldest = this.#buckets.keys().next();
    if (this.#buckets.size > this.#max && !oldest.done) this.#buckets.delete(oldest.value);
    return bucket;
  }
}
