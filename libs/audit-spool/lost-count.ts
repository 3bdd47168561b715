import { DEFAULT_TENANT, MAX_LOST_NAMED, type LostPassages } from '@fairlead/contracts';

/** Ids that wait to be said: of more, it is not said whose outcome was lost. */
const MAX_PASSAGES = 10_000;

/** Records that there was no room for: counted until the count itself can be written. */
export class LostCount {
  #count = 0;
  #since = 0;
  #why = '';
  #passages: string[] = [];

  get count(): number {
    return this.#count;
  }

  /** `passages`: of those that are counted, outcomes of what has an intent. */
  add(count: number, why: string, passages: readonly string[] = []): void {
    if (count === 0) return;
    if (this.#count === 0) {
      this.#since = Date.now();
      this.#why = why;
    }
    this.#count += count;
    this.#passages.push(...passages.slice(0, MAX_PASSAGES - this.#passages.length));
  }

  /** The record of those that were counted; they are counted no more. One record names only so many passages: then the others are still counted. */
  take(): LostPassages {
    const passages = this.#passages.splice(0, MAX_LOST_NAMED);
    const count = this.#passages.length > 0 ? passages.length : this.#count;
    const record = lostRecord(count, this.#why, this.#since);
    this.#count -= count;
    return passages.length > 0 ? { ...record, passages } : record;
  }
}

/** `why` is cut to what a record may hold. */
export function lostRecord(count: number, why: string, atMs: number = Date.now()): LostPassages {
  const [at, tenantId] = [new Date(atMs).toISOString(), DEFAULT_TENANT];
  return { phase: 'lost', at, tenantId, count, why: why.slice(0, 256), what: 'records', user: '' };
}
