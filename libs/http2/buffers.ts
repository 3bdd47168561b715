/** What waits to be sent, piece by piece as it was written. */
export class SendBuffer {
  #pieces: Buffer[] = [];
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  push(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#pieces.push(piece);
    this.#bytes += piece.length;
  }

  /** Moves the first `bytes` of it to the end of `target`; there must be as many. */
  moveTo(target: Buffer[], bytes: number): void {
    this.#bytes -= bytes;
    let left = bytes;
    let used = 0;
    while (left > 0) {
      const piece = this.#pieces[used] as Buffer;
      if (piece.length > left) {
        target.push(piece.subarray(0, left));
        this.#pieces[used] = piece.subarray(left);
        left = 0;
      } else {
        target.push(piece);
        left -= piece.length;
        used += 1;
      }
    }
    if (used > 0) this.#pieces.splice(0, used);
  }

  clear(): void {
    this.#pieces = [];
    this.#bytes = 0;
  }
}

const BLOCK_BYTES = 16 * 1024;

/**
 * What came and has nobody to go to yet. It is copied together: a peer that sends single bytes would otherwise keep alive
 * an object for each, and all that was read with it.
 */
export class UnclaimedBytes {
  #blocks: Buffer[] = [];
  /** Of the last block. */
  #usedBytes = BLOCK_BYTES;

  get isEmpty(): boolean {
    return this.#blocks.length === 0;
  }

  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length;) {
      if (this.#usedBytes === BLOCK_BYTES) {
        this.#blocks.push(Buffer.allocUnsafeSlow(BLOCK_BYTES));
        this.#usedBytes = 0;
      }
      const copied = chunk.copy(this.#blocks.at(-1) as Buffer, this.#usedBytes, at);
      this.#usedBytes += copied;
      at += copied;
    }
  }

  /** The next piece of it, or undefined when there is none. */
  shift(): Buffer | undefined {
    const block = this.#blocks.shift();
    if (!block || this.#blocks.length > 0) return block;
    const used = this.#usedBytes;
    this.#usedBytes = BLOCK_BYTES;
    return block.subarray(0, used);
  }
}
