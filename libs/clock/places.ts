import { KeyedPlaces } from './keyed-places.js';
import { networkOf } from './network-of.js';

export interface PlaceLimits {
  readonly total: number;
  /** Of one address, or /64 of IPv6. */
  readonly perNetwork: number;
}

/** Places for connections, of which one network has a part only. */
export class Places {
  readonly #places: KeyedPlaces;

  constructor({ total, perNetwork }: PlaceLimits) {
    this.#places = new KeyedPlaces({ total, perKey: perNetwork });
  }

  /** What gives the place back, which counts once; null if there is none left. */
  take(address: string): (() => void) | null {
    return this.#places.take(networkOf(address));
  }
}
