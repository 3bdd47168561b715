import { fullJitterMs } from '@fairlead/clock';
import { messageOf } from '@fairlead/errors';
import type { DrivenPart, Runtime } from './runtime.js';

const RETRY = { baseMs: 1_000, capMs: 30_000 };

interface Failed {
  readonly failures: number;
  /** Epoch milliseconds. */
  readonly againAtMs: number;
}

/**
 * Works on many, one by one, round by round. What fails is tried again after growing pauses, and keeps none of the others from its turn: a
 * tenant's are no concern of another's.
 */
export class OneByOne {
  /** Of those that were there last, no more. */
  #failed = new Map<string, Failed>();

  constructor(
    private readonly runtime: Runtime,
    private readonly part: DrivenPart,
  ) {}

  /** True if the work on one of them says so. */
  async each<T>(items: readonly T[], idOf: (item: T) => string, work: (item: T) => Promise<boolean>): Promise<boolean> {
    const before = this.#failed;
    this.#failed = new Map();
    let changed = false;
    for (const item of items) {
      const id = idOf(item);
      const failed = before.get(id);
      const nowMs = this.runtime.now().getTime();
      if (failed && nowMs < failed.againAtMs) {
        this.#failed.set(id, failed);
        continue;
      }
      try {
        changed = (await work(item)) || changed;
      } catch (error) {
        this.#note(id, failed?.failures ?? 0, error);
      }
    }
    return changed;
  }

  #note(id: string, failures: number, error: unknown): void {
    const { logger, onFailed, now } = this.runtime;
    onFailed?.(this.part);
    logger.log(failures === 0 ? 'warn' : 'debug', `${this.part}.delayed`, { id, failures, reason: messageOf(error) });
    const againAtMs = now().getTime() + RETRY.baseMs + fullJitterMs(failures, RETRY);
    this.#failed.set(id, { failures: failures + 1, againAtMs });
  }
}

/** All at once, and the failure of one is its own: `failed` hears of it. Fails only if `failed` does. */
export async function eachApart<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
  failed: (item: T, error: unknown) => Promise<void>,
): Promise<void> {
  await Promise.all(items.map((item) => work(item).catch((error: unknown) => failed(item, error))));
}
