/**
 * The time, which is never earlier than any that was signed: setting a clock back brings no statement back. What is told has been verified before, so who is
 * untrusted moves nothing; how far ahead it may be is the teller's to bound.
 */
export class SignedTime {
  readonly #clockMs: () => number;
  #newestMs = Number.NEGATIVE_INFINITY;

  /** `clockMs`: milliseconds since the epoch. */
  constructor(clockMs: () => number) {
    this.#clockMs = clockMs;
  }

  nowMs(): number {
    return Math.max(this.#clockMs(), this.#newestMs);
  }

  /** Somebody whom we trust signed something at that time. */
  saw(signedMs: number): void {
    if (signedMs > this.#newestMs) this.#newestMs = signedMs;
  }
}
