import { fullJitterMs } from '@fairlead/clock';
import { messageOf } from '@fairlead/errors';
import type { DrivenPart, Runtime } from './runtime.js';

const RETRY = { baseMs: 1_000, capMs: 30_000 };

interface Trouble {
  readonly failures: number;
  /** Epoch milliseconds. */
  readonly againAtMs: number;
}

/**
 * Works on many, one by one, turn by turn. What fails is tried again after growing pauses, and keeps none of the others from its turn: a
 * tenant's are no concern of another's.
 */
export class OneByOne {
  readonly #runtime: Runtime;
  readonly #part: DrivenPart;
  /** Of those that were there last, no more. */
  #troubles = new Map<string, Trouble>();

  constructor(runtime: Runtime, part: DrivenPart) {
    this.#runtime = runtime;
    this.#part = part;
  }

  /** True if the work on one of them says so. */
  async each<T>(items: readonly T[], idOf: (item: T) => string, work: (item: T) => Promise<boolean>): Promise<boolean> {
    const before = this.#troubles;
    this.#troubles = new Map();
    let changed = false;
    for (const item of items) {
      const id = idOf(item);
      const trouble = before.get(id);
      const nowMs = this.#runtime.now().getTime();
      if (trouble && nowMs < trouble.againAtMs) {
        this.#troubles.set(id, trouble);
        continue;
      }
      try {
        changed = (await work(item)) || changed;
      } catch (error) {
        this.#note(id, trouble?.failures ?? 0, error);
      }
    }
    return changed;
  }

  #note(id: string, failures: number, error: unknown): void {
    const { logger, onFailed, now } = this.#runtime;
    onFailed?.(this.#part);
    logger.log(failures === 0 ? 'warn' : 'debug', `${this.#part}.delayed`, { id, failures, reason: messageOf(error) });
    const againAtMs = now().getTime() + RETRY.baseMs + fullJitterMs(failures, RETRY);
    this.#troubles.set(id, { failures: failures + 1, againAtMs });
  }
}
