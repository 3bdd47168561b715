type Answered = (roundTripMs: number | null) => void;

/** Pings that were sent and not answered yet. */
export class Pings {
  readonly #waiting = new Map<number, { readonly sentMs: number; readonly answered: Answered }>();
  #last = 0;

  /** The eight bytes of the next one. */
  next(answered: Answered): Buffer {
    this.#last = (this.#last + 1) % 2 ** 32;
    const opaque = Buffer.alloc(8);
    opaque.writeUInt32BE(this.#last, 4);
    this.#waiting.set(this.#last, { sentMs: performance.now(), answered });
    return opaque;
  }

  /** An answer came; one that nobody asked for is nothing. */
  answer(opaque: Buffer): void {
    const number = opaque.readUInt32BE(4);
    const ping = this.#waiting.get(number);
    this.#waiting.delete(number);
    ping?.answered(performance.now() - ping.sentMs);
  }

  /** There will be no more answers. */
  close(): void {
    const all = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { answered } of all) answered(null);
  }
}
