import { FairleadError } from '@fairlead/errors';
import { KeyedRateLimit, networkOf, type Rate } from '@fairlead/limits';

/** Attempts of one address (IPv6: a /64). */
interface AddressLimit extends Rate {
  /** Addresses remembered; the one seen longest ago is forgotten first. */
  readonly maxAddresses?: number;
}

/** How often each client address may try, in bounded memory. */
export class AddressLimiter {
  readonly #attempts: KeyedRateLimit;
  readonly #nowMs: () => number;

  constructor(limit: AddressLimit, nowMs: () => number) {
    this.#attempts = new KeyedRateLimit(limit, limit.maxAddresses);
    this.#nowMs = nowMs;
  }

  /** Takes one attempt. RATE_LIMITED, with `retryAfterSeconds`, if there is none left. */
  take(address: string): void {
    this.check(address);
    this.#attempts.take(networkOf(address), this.#nowMs());
  }

  /** RATE_LIMITED if the next attempt would be; takes nothing. */
  check(address: string): void {
    const waitMs = this.#attempts.waitMs(networkOf(address), this.#nowMs());
    if (waitMs === 0) return;
    const retryAfterSeconds = Math.ceil(waitMs / 1_000);
    throw new FairleadError('RATE_LIMITED', 'too many attempts from this address', { details: { retryAfterSeconds } });
  }

  get size(): number {
    return this.#attempts.size;
  }
}
