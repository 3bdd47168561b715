/** Records as JSON (UTF-8), numbered one after the other. */
export interface SpooledRecords {
  readonly firstSeq: number;
  readonly records: readonly Buffer[];
  /** A limit was reached: more may follow. */
  readonly isFull: boolean;
}

export interface ReadLimits {
  readonly records: number;
  /** Of their JSON; one record may be larger. */
  readonly bytes: number;
}

/** Grows until a limit is reached. */
export class Batch {
  readonly records: Buffer[] = [];
  nextSeq: number;
  readonly #limits: ReadLimits;
  #bytes = 0;

  constructor(firstSeq: number, limits: ReadLimits) {
    this.nextSeq = firstSeq;
    this.#limits = limits;
  }

  get isFull(): boolean {
    return this.records.length >= this.#limits.records || this.#bytes >= this.#limits.bytes;
  }

  add(json: Buffer): void {
    this.records.push(json);
    this.#bytes += json.length;
    this.nextSeq += 1;
  }
}
