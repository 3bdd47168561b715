import { DEFAULT_TENANT, type LostPassages } from '@fairlead/contracts';

/** Records that there was no room for: counted until the count itself can be written. */
export class LostCount {
  #count = 0;
  #since = 0;
  #why = '';

  get count(): number {
    return this.#count;
  }

  add(count: number, why: string): void {
    if (count === 0) return;
    if (this.#count === 0) {
      this.#since = Date.now();
      this.#why = why;
    }
    this.#count += count;
  }

  /** The record of all that were counted; they are counted no more. */
  take(): LostPassages {
    const record = lostRecord(this.#count, this.#why, this.#since);
    this.#count = 0;
    return record;
  }
}

/** `why` is cut to what a record may hold. */
export function lostRecord(count: number, why: string, atMs: number = Date.now()): LostPassages {
  const [at, tenantId] = [new Date(atMs).toISOString(), DEFAULT_TENANT];
  return { phase: 'lost', at, tenantId, count, why: why.slice(0, 256), what: 'records', user: '' };
}
