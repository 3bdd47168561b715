/** That something is done once in some time, at most. Times are monotonic, in milliseconds. */
export class Pace {
  readonly #everyMs: number;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  take(nowMs: number): boolean {
    if (nowMs - this.#lastMs < this.#everyMs) return false;
    this.#lastMs = nowMs;
    return true;
  }
}
