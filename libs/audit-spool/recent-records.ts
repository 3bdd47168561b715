import type { Batch } from './batch.js';
import type { EncodedLines } from './record-line.js';

interface Group extends EncodedLines {
  readonly firstSeq: number;
}

/**
 * What was written last, as much of it as is little: while records are handed on as fast as they come, nobody has to read the disk for them. It says nothing of whether
 * they are durable.
 */
export class RecentRecords {
  readonly #maxBytes: number;
  /** One follows the other. */
  readonly #groups: Group[] = [];
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** They follow those that were added before. */
  add(firstSeq: number, { bytes, json }: EncodedLines): void {
    this.#groups.push({ firstSeq, bytes, json });
    this.#bytes += bytes.length;
    while (this.#bytes > this.#maxBytes) this.#dropFirst();
  }

  /** Records up to this number are not needed. */
  forgetUpTo(seq: number): void {
    for (let [first] = this.#groups; first && lastOf(first) <= seq; [first] = this.#groups) this.#dropFirst();
  }

  clear(): void {
    this.#groups.length = 0;
    this.#bytes = 0;
  }

  /** Adds to a batch what follows it, up to this number. Nothing, if that is not here any more. */
  addTo(batch: Batch, lastSeq: number): void {
    for (const group of this.#groups) {
      if (group.firstSeq > batch.nextSeq) return;
      for (const { from, to } of group.json.slice(batch.nextSeq - group.firstSeq)) {
        if (batch.isFull || batch.nextSeq > lastSeq) return;
        batch.add(group.bytes.subarray(from, to));
      }
    }
  }

  #dropFirst(): void {
    this.#bytes -= this.#groups.shift()?.bytes.length ?? 0;
  }
}

function lastOf({ firstSeq, json }: Group): number {
  return firstSeq + json.length - 1;
}
