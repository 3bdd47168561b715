import { fullJitterMs, systemClock, type Clock } from '@fairlead/clock';
import { toFairleadError, type FairleadError } from '@fairlead/errors';
import { BoundedMap } from '@fairlead/limits';

/** How long words are gathered before they go; also the pause between two batches. */
const GATHER_MS = 1_000;
const RETRY = { baseMs: 1_000, capMs: 60_000 };

export interface BatchReporterOptions<T> {
  /** Keys that wait, one batch besides; beyond it the oldest gives way. */
  readonly maxPending: number;
  readonly maxBatch: number;
  /** Resolves once the other side has taken them. */
  readonly send: (values: T[]) => Promise<void>;
  /** They go again, each unless its key has a newer one; not after INVALID_ARGUMENT: what is wrong with them will not be mended by repeating it. */
  readonly onFailed: (values: readonly T[], error: FairleadError) => void;
  /** Asked of each that has not been sent yet, whenever a batch is made; default: all may go. */
  readonly mayGo?: (key: string) => boolean;
  /** Before each batch, after so many that failed one after the other; default: about a second, and up to a minute after failures. */
  readonly pauseMs?: (failures: number) => number;
  readonly signal: AbortSignal;
  readonly clock?: Clock;
}

/** Tells another service the newest of each key: many at a time, one batch after the other, and later if it is away. Never blocks and never throws. */
export class BatchReporter<T> {
  readonly #options: BatchReporterOptions<T>;
  readonly #pending: BoundedMap<string, T>;
  /** What is being sent, or is to be sent again. */
  #batch = new Map<string, T>();
  #running = false;

  constructor(options: BatchReporterOptions<T>) {
    this.#options = options;
    this.#pending = new BoundedMap({ max: options.maxPending, overflow: 'forget-oldest' });
  }

  put(key: string, value: T): void {
    this.#pending.set(key, value);
    if (!this.#running) void this.#run();
  }

  /** What waits under the key is not sent, unless sending it has been tried. */
  takeBack(key: string): void {
    this.#pending.delete(key);
  }

  /** Nothing that waits is sent, nor sent again. */
  clear(): void {
    this.#pending.clear();
    this.#batch = new Map();
  }

  async #run(): Promise<void> {
    const { signal, clock = systemClock, pauseMs = defaultPauseMs } = this.#options;
    this.#running = true;
    for (let failures = 0; this.#pending.size + this.#batch.size > 0 && !signal.aborted;) {
      // The clock rejects for no other reason than the signal.
      await clock.sleep(pauseMs(failures), signal).catch(() => undefined);
      if (signal.aborted) break;
      this.#batch = this.#takeDue();
      if (this.#batch.size > 0) failures = (await this.#send([...this.#batch.values()])) ? 0 : failures + 1;
    }
    this.#running = false;
  }

  /** What failed, unless there is a newer one, and then the oldest of what may go. */
  #takeDue(): Map<string, T> {
    const { maxBatch, mayGo } = this.#options;
    const due = new Map([...this.#batch].filter(([key]) => !this.#pending.has(key)));
    for (const [key, value] of this.#pending) {
      if (due.size === maxBatch) break;
      if (mayGo && !mayGo(key)) continue;
      due.set(key, value);
      this.#pending.delete(key);
    }
    return due;
  }

  async #send(values: T[]): Promise<boolean> {
    try {
      await this.#options.send(values);
    } catch (caught) {
      const error = toFairleadError(caught);
      this.#options.onFailed(values, error);
      if (error.code !== 'INVALID_ARGUMENT') return false;
    }
    this.#batch = new Map();
    return true;
  }
}

function defaultPauseMs(failures: number): number {
  return failures === 0 ? GATHER_MS * (0.5 + Math.random()) : fullJitterMs(failures, RETRY);
}
