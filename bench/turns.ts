/**
 * Lets several that do the same work do a slice of it in turn, so that a machine that becomes slower meanwhile is as slow for each. The first turn begins
 * when all have asked for one; then they go round, in the order in which they are named, and whoever is not there yet is waited for.
 */
export class Turns {
  readonly #order: string[];
  readonly #waiting = new Map<string, () => void>();
  #next = 0;
  #holder: string | undefined;
  #hasBegun = false;

  constructor(order: readonly string[]) {
    this.#order = [...order];
  }

  /** Ends the turn that this one has, and resolves when its next one comes. */
  take(who: string): Promise<void> {
    if (this.#holder === who) this.#holder = undefined;
    const turn = new Promise<void>((resolve) => this.#waiting.set(who, resolve));
    this.#go();
    return turn;
  }

  /** It takes no more turns: the others are not to wait for it. */
  leave(who: string): void {
    const at = this.#order.indexOf(who);
    if (at < 0) return;
    this.#order.splice(at, 1);
    if (at < this.#next) this.#next -= 1;
    if (this.#holder === who) this.#holder = undefined;
    this.#go();
  }

  #go(): void {
    this.#hasBegun ||= this.#order.every((each) => this.#waiting.has(each));
    const who = this.#order[this.#next % this.#order.length];
    const begin = who === undefined ? undefined : this.#waiting.get(who);
    if (!this.#hasBegun || this.#holder !== undefined || who === undefined || begin === undefined) return;
    this.#waiting.delete(who);
    this.#holder = who;
    this.#next = (this.#next % this.#order.length) + 1;
    begin();
  }
}
