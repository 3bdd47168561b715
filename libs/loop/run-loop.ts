import { fullJitterMs, systemClock, type BackoffLimits, type Clock } from '@fairlead/clock';
import { toFairleadError } from '@fairlead/errors';
import { Wake } from './wake.js';

/** Timers hold 31 bits; a longer wait is cut, and the round at its end sees what is due. */
const MAX_WAIT_MS = 24 * 3_600_000;

export interface Failure {
  /** Rounds that failed one after the other before this one. */
  readonly before: number;
  /** The last one failed with the same error code: its line may go to a lower level. */
  readonly repeated: boolean;
}

export interface RetryLimits extends BackoffLimits {
  /** Added to each wait that is drawn, so that a loop that fails makes at most one try in this time; default 0. */
  readonly leastMs?: number;
}

export interface RunLoopOptions {
  /**
   * The work of one round; the next begins after this one has ended. It returns how long to wait until then, in milliseconds as they are, without jitter; nothing: the
   * interval. If it throws, it is tried again as `retry` has it.
   */
  readonly work: (signal: AbortSignal) => Promise<number | void>;
  readonly intervalMs: number;
  /** The interval is drawn from 1 - jitter to 1 + jitter of what it is; default 0. */
  readonly jitter?: number;
  /** Without it, a round that failed is followed by the next one after the interval. */
  readonly retry?: RetryLimits;
  /** Told of each round that failed, but not of one that was cut short because the loop ends. Must not throw. */
  readonly onFailed: (error: unknown, failure: Failure) => void;
  readonly clock?: Clock;
  /** Ends waits; the caller's own, where something else wakes the loop. */
  readonly wake?: Wake;
}

/** Round after round until the signal, the first one at once. Ends after the round that runs then; never rejects. */
export async function runLoop(options: RunLoopOptions, signal: AbortSignal): Promise<void> {
  const { work, onFailed, clock = systemClock, wake = new Wake() } = options;
  let failures = 0;
  let lastCode: string | null = null;
  while (!signal.aborted) {
    let waitMs: number;
    try {
      waitMs = (await work(signal)) ?? intervalMs(options);
      failures = 0;
      lastCode = null;
    } catch (error) {
      if (signal.aborted) return;
      const { code } = toFairleadError(error);
      onFailed(error, { before: failures, repeated: code === lastCode });
      waitMs = options.retry ? retryMs(failures, options.retry) : intervalMs(options);
      lastCode = code;
      failures += 1;
    }
    // A round that returns 0 goes on at once: no timer's millisecond between two batches.
    if (waitMs > 0) await wake.wait(clock, Math.min(waitMs, MAX_WAIT_MS), signal);
  }
}

function intervalMs({ intervalMs: everyMs, jitter = 0 }: RunLoopOptions): number {
  return everyMs * (1 - jitter + Math.random() * 2 * jitter);
}

function retryMs(failures: number, { leastMs = 0, ...limits }: RetryLimits): number {
  // Never 0: a try that failed gives way to everything else in the process.
  return Math.max(1, leastMs + fullJitterMs(failures, limits));
}

/** A loop of its own: created running, disposed of to end. Disposal waits for the round that runs. */
export class RunLoop implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #wake: Wake;
  readonly #running: Promise<void>;

  constructor(options: RunLoopOptions) {
    this.#wake = options.wake ?? new Wake();
    this.#running = runLoop({ ...options, wake: this.#wake }, this.#stop.signal);
  }

  /** The next round comes now, or right after the one that runs. */
  wake(): void {
    this.#wake.call();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error('the loop was ended'));
    await this.#running;
  }
}
