import { networkOf } from '@fairlead/clock';
import { FairleadError } from '@fairlead/errors';

export interface AddressLimit {
  /** Attempts that an address has at once. */
  readonly burst: number;
  /** Attempts it regains per second. */
  readonly perSecond: number;
  /** Addresses remembered; the one seen longest ago is forgotten first. */
  readonly maxAddresses?: number;
}

interface Bucket {
  readonly tokens: number;
  readonly atMs: number;
}

/** A token bucket per client address, in bounded memory. */
export class AddressLimiter {
  readonly #buckets = new Map<string, Bucket>();

  constructor(
    private readonly limit: AddressLimit,
    private readonly nowMs: () => number,
  ) {}

  /** Takes one attempt. RATE_LIMITED, with `retryAfterSeconds`, if there is none left. */
  take(address: string): void {
    this.check(address);
    const key = networkOf(address);
    const tokens = this.#tokens(key) - 1;
    this.#buckets.delete(key);
    this.#buckets.set(key, { tokens, atMs: this.nowMs() });
    const [oldest] = this.#buckets.keys();
    if (oldest !== undefined && this.#buckets.size > (this.limit.maxAddresses ?? 10_000)) this.#buckets.delete(oldest);
  }

  /** RATE_LIMITED if the next attempt would be; takes nothing. */
  check(address: string): void {
    const tokens = this.#tokens(networkOf(address));
    if (tokens >= 1) return;
    const retryAfterSeconds = Math.ceil((1 - tokens) / this.limit.perSecond);
    throw new FairleadError('RATE_LIMITED', 'too many attempts from this address', { details: { retryAfterSeconds } });
  }

  get size(): number {
    return this.#buckets.size;
  }

  #tokens(key: string): number {
    const bucket = this.#buckets.get(key);
    if (!bucket) return this.limit.burst;
    const regained = ((this.nowMs() - bucket.atMs) / 1_000) * this.limit.perSecond;
    return Math.min(this.limit.burst, bucket.tokens + regained);
  }
}
