import type { FloodKind } from './kinds.js';

const BATCH_BYTES = 16 * 1024;
const HEADER_BYTES = 9;
const STREAM_ID_AT = 5;

/** Many steps of a flood in one write; each time it is taken its streams have new numbers. */
export class Batch {
  readonly steps: number;
  readonly #bytes: Buffer;
  /** Where the numbers of streams stand in it. */
  readonly #numbersAt: readonly number[];
  /** Numbers of streams that it uses up. */
  readonly #used: number;
  /** The first stream was the opening's. */
  #next = 3;

  constructor({ step, isFresh }: FloodKind) {
    const one = step(1).length;
    this.steps = Math.max(1, Math.floor(BATCH_BYTES / one));
    this.#bytes = Buffer.concat(Array.from({ length: this.steps }, (_, index) => step(2 * index + 1)));
    this.#numbersAt = isFresh ? numbersIn(this.#bytes) : [];
    this.#used = isFresh ? 2 * this.steps : 0;
  }

  next(): Buffer {
    if (this.#used === 0) return this.#bytes;
    const bytes = Buffer.from(this.#bytes);
    for (const at of this.#numbersAt) bytes.writeUInt32BE(bytes.readUInt32BE(at) + this.#next - 1, at);
    this.#next += this.#used;
    return bytes;
  }
}

function numbersIn(frames: Buffer): number[] {
  const found: number[] = [];
  for (let at = 0; at < frames.length; at += HEADER_BYTES + frames.readUIntBE(at, 3)) found.push(at + STREAM_ID_AT);
  return found;
}
