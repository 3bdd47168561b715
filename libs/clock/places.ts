import { networkOf } from './network-of.js';

export interface PlaceLimits {
  readonly total: number;
  /** Of one address, or /64 of IPv6. */
  readonly perNetwork: number;
}

/** Places for connections, of which one network has a part only. */
export class Places {
  readonly #limits: PlaceLimits;
  readonly #networks = new Map<string, number>();
  #taken = 0;

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  /** What gives the place back, which counts once; null if there is none left. */
  take(address: string): (() => void) | null {
    const network = networkOf(address);
    const taken = this.#networks.get(network) ?? 0;
    if (this.#taken >= this.#limits.total || taken >= this.#limits.perNetwork) return null;
    this.#taken += 1;
    this.#networks.set(network, taken + 1);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#taken -= 1;
      const left = (this.#networks.get(network) ?? 1) - 1;
      if (left === 0) this.#networks.delete(network);
      else this.#networks.set(network, left);
    };
  }
}
