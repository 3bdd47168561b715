/** How many of something a peer may do: `burst` at once, then `perSecond`. */
export interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

/** A token bucket of one rate. */
export class Budget {
  readonly #rate: Rate;
  #left: number;
  #atMs = performance.now();

  constructor(rate: Rate) {
    this.#rate = rate;
    this.#left = rate.burst;
  }

  /** False if there is nothing left. */
  take(): boolean {
    const nowMs = performance.now();
    const fresh = ((nowMs - this.#atMs) / 1000) * this.#rate.perSecond;
    this.#left = Math.min(this.#rate.burst, this.#left + fresh);
    this.#atMs = nowMs;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}
