import { ConcurrencyLimit } from './concurrency-limit.js';
import { networkOf } from './network-of.js';

export interface NetworkConcurrencyLimits {
  readonly total: number;
  /** Of one address, or /64 of IPv6. */
  readonly perNetwork: number;
}

/** How many connections there may be at once, of which one network has a part only. */
export class NetworkConcurrencyLimit {
  readonly #limit: ConcurrencyLimit;

  constructor({ total, perNetwork }: NetworkConcurrencyLimits) {
    this.#limit = new ConcurrencyLimit({ total, perKey: perNetwork });
  }

  /** What gives the place back, which counts once; null if there is none left. */
  take(address: string): (() => void) | null {
    return this.#limit.take(networkOf(address));
  }
}
