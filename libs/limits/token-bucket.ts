/** How many of something may come: `burst` at once, then `perSecond`. */
export interface Rate {
  /** What may come at once after a pause. */
  readonly burst: number;
  readonly perSecond: number;
}

/** Milliseconds of which only differences mean something. */
export interface MonotonicClock {
  monotonicMs(): number;
}

/** Counts how much may still come: `burst` at once, refilled at `perSecond`. Times are milliseconds of one clock. */
export class TokenBucket {
  readonly #rate: Rate;
  #tokens: number;
  #atMs: number;

  constructor(rate: Rate, nowMs: number) {
    this.#rate = rate;
    this.#tokens = rate.burst;
    this.#atMs = nowMs;
  }

  /** Takes `count` tokens if they are there. */
  take(nowMs: number, count = 1): boolean {
    this.#refill(nowMs);
    if (this.#tokens < count) return false;
    this.#tokens -= count;
    return true;
  }

  /** Nothing was taken for so long that forgetting this bucket changes nothing. */
  isFull(nowMs: number): boolean {
    this.#refill(nowMs);
    return this.#tokens >= this.#rate.burst;
  }

  /** How long until `count` tokens are there. */
  waitMs(nowMs: number, count = 1): number {
    this.#refill(nowMs);
    return Math.max(0, ((count - this.#tokens) / this.#rate.perSecond) * 1_000);
  }

  #refill(nowMs: number): void {
    const { burst, perSecond } = this.#rate;
    this.#tokens = Math.min(burst, this.#tokens + (Math.max(0, nowMs - this.#atMs) / 1_000) * perSecond);
    this.#atMs = Math.max(this.#atMs, nowMs);
  }
}
