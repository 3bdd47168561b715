import { networkOf } from './network-of.js';

export interface ConcurrencyLimits {
  readonly total: number;
  readonly perKey: number;
}

/** How much there may be at once, of which each key (a cluster, a user) has a part only. It remembers no more keys than there may be at once. */
export class ConcurrencyLimit {
  readonly #limits: ConcurrencyLimits;
  readonly #taken = new Map<string, number>();
  #total = 0;

  constructor(limits: ConcurrencyLimits) {
    this.#limits = limits;
  }

  /** Has this key all that one may have? */
  isUsedUp(key: string): boolean {
    return (this.#taken.get(key) ?? 0) >= this.#limits.perKey;
  }

  /** What gives it back, which counts once; null if there is none left. */
  take(key: string): (() => void) | null {
    if (this.#total >= this.#limits.total || this.isUsedUp(key)) return null;
    this.#total += 1;
    this.#taken.set(key, (this.#taken.get(key) ?? 0) + 1);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#total -= 1;
      const left = (this.#taken.get(key) ?? 1) - 1;
      if (left === 0) this.#taken.delete(key);
      else this.#taken.set(key, left);
    };
  }
}

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

  /** What takes it off the count, once; null if the limit is reached. */
  take(address: string): (() => void) | null {
    return this.#limit.take(networkOf(address));
  }
}
