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

  /** What gives it back, which counts once; null if there is none left. */
  take(key: string): (() => void) | null {
    const taken = this.#taken.get(key) ?? 0;
    if (this.#total >= this.#limits.total || taken >= this.#limits.perKey) return null;
    this.#total += 1;
    this.#taken.set(key, taken + 1);
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
