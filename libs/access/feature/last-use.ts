import { messageOf } from '@fairlead/errors';
import { BoundedMap } from '@fairlead/limits';
import { RunLoop } from '@fairlead/loop';
import { inTransaction } from '@fairlead/persistence';
import { markUsed } from '../store/token-store.js';
import type { Runtime } from './runtime.js';

const MINUTE_MS = 60_000;
/** Tokens whose use waits to be written; of those beyond, the one used longest ago is forgotten. */
const MAX_WAITING = 10_000;
/** Tokens that are known to be written, and need no second time in the same minute. */
const MAX_WRITTEN = 10_000;
const AT_ONCE = 1_000;

/**
 * Writes when API tokens were used, to the minute: beside requests, and each token once a minute at most. What waits is lost when the process ends
 * at once, and written when it is disposed of.
 */
export class LastUse implements AsyncDisposable {
  readonly #runtime: Runtime;
  /** By token id, the minute. */
  readonly #waiting = new BoundedMap<string, number>({ max: MAX_WAITING, overflow: 'forget-oldest' });
  readonly #written = new BoundedMap<string, number>({ max: MAX_WRITTEN, overflow: 'forget-oldest' });
  readonly #loop: RunLoop;

  constructor(runtime: Runtime, { intervalMs = 1_000 }: { readonly intervalMs?: number } = {}) {
    this.#runtime = runtime;
    this.#loop = new RunLoop({
      intervalMs,
      work: () => this.#write(),
      onFailed: (error, { repeated }) =>
        runtime.logger.log(repeated ? 'debug' : 'warn', 'last-use.delayed', { reason: messageOf(error) }),
    });
  }

  /** This token was shown at `now`. Returns at once. */
  note(tokenId: string, now: Date): void {
    const minute = Math.floor(now.getTime() / MINUTE_MS) * MINUTE_MS;
    if ((this.#written.get(tokenId) ?? -1) < minute) this.#waiting.set(tokenId, minute);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]();
    await this.#write().catch((error: unknown) =>
      this.#runtime.logger.warn('last-use.lost', { tokens: this.#waiting.size, reason: messageOf(error) }),
    );
  }

  async #write(): Promise<void> {
    for (const [minute, ids] of byMinute(this.#waiting)) {
      for (let at = 0; at < ids.length; at += AT_ONCE) {
        const some = ids.slice(at, at + AT_ONCE);
        // In no bucket and no event: nothing follows from it.
        await inTransaction(this.#runtime.database, (manager) => markUsed(manager, some, new Date(minute)));
        for (const id of some) this.#done(id, minute);
      }
    }
  }

  #done(id: string, minute: number): void {
    this.#written.set(id, minute);
    // It may have been used again meanwhile.
    if (this.#waiting.get(id) === minute) this.#waiting.delete(id);
  }
}

function byMinute(waiting: Iterable<[string, number]>): Map<number, string[]> {
  const found = new Map<number, string[]>();
  for (const [id, minute] of waiting) found.set(minute, [...(found.get(minute) ?? []), id]);
  return found;
}
