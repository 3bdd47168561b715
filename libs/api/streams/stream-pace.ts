import type { Clock } from '@fairlead/clock';
import type { Backend } from '../feature/backend.js';
import { LogEnds } from './log-ends.js';

export interface StreamPaceOptions {
  /** How often a log is asked whether it has grown; default 500. */
  readonly lookEveryMs?: number;
  /** How often a stream with nothing to send has a heartbeat; default 10,000. */
  readonly heartbeatMs?: number;
  /** How often it is asked whether whoever has a stream may still have it; default 5,000. */
  readonly checkEveryMs?: number;
}

/** When streams look for more, send a heartbeat, and ask whether they may go on. */
export class StreamPace {
  readonly checkEveryMs: number;
  readonly #ends: LogEnds;
  readonly #heartbeatMs: number;

  constructor(
    backend: Pick<Backend, 'read'>,
    readonly clock: Clock,
    { lookEveryMs = 500, heartbeatMs = 10_000, checkEveryMs = 5_000 }: StreamPaceOptions = {},
  ) {
    this.checkEveryMs = checkEveryMs;
    this.#heartbeatMs = Math.min(heartbeatMs, checkEveryMs);
    this.#ends = new LogEnds(backend, clock, lookEveryMs);
  }

  /** Resolves when a tenant's log is longer than `at`, when a heartbeat is due, or when the signal is aborted. */
  async untilMore(tenantId: string, at: number, signal: AbortSignal): Promise<void> {
    const done = new AbortController();
    const either = AbortSignal.any([signal, done.signal]);
    const due = this.clock.sleep(this.#heartbeatMs, either).catch(() => undefined);
    await Promise.race([this.#ends.wait(tenantId, at, either), due]);
    done.abort();
  }
}
