import { Counter, type Registry } from 'prom-client';

export interface LiveCounterOptions {
  readonly name: string;
  readonly help: string;
  /** The one label; what is followed says its values. */
  readonly label: string;
  readonly registry: Registry;
}

type Read = () => Readonly<Record<string, number>>;

/**
 * A Prometheus counter of numbers that grow elsewhere, such as the bytes of a connection: they are read when somebody
 * scrapes and when they have ended, so that nothing is counted twice over per byte.
 */
export class LiveCounter {
  readonly #label: string;
  readonly #counter: Counter;
  readonly #followed = new Map<Read, Record<string, number>>();

  constructor({ name, help, label, registry }: LiveCounterOptions) {
    this.#label = label;
    const collect = (): void => {
      for (const read of this.#followed.keys()) this.#settle(read);
    };
    this.#counter = new Counter({ name, help, labelNames: [label], registers: [registry], collect });
  }

  /** How much is followed now. */
  get size(): number {
    return this.#followed.size;
  }

  /** `read` tells the sums so far by the label's value; they never shrink. Call the result when they grow no more. */
  follow(read: Read): () => void {
    this.#followed.set(read, {});
    return () => {
      this.#settle(read);
      this.#followed.delete(read);
    };
  }

  #settle(read: Read): void {
    const before = this.#followed.get(read);
    if (!before) return;
    for (const [value, sum] of Object.entries(read())) {
      this.#counter.inc({ [this.#label]: value }, sum - (before[value] ?? 0));
      before[value] = sum;
    }
  }
}
