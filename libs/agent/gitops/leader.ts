import type { Clock } from '@fairlead/clock';
import { toFairleadError } from '@fairlead/errors';
import { runLoop, type Failure } from '@fairlead/loop';
import type { Logger } from '@fairlead/observability';

/** Which of an agent's pods does what only one may do: a Kubernetes Lease. Each call has a deadline of its own. */
export interface LeaderLease {
  /** `renewed`: a text that is another one after each write. NOT_FOUND: there is none; FORBIDDEN: this agent was installed without the right to it. */
  read(): Promise<{ readonly holder: string; readonly renewed: string; readonly version: string }>;
  /** CONFLICT if it is no longer of this version. */
  write(holder: string, version: string): Promise<void>;
}

export interface LeaderOptions {
  readonly lease: LeaderLease;
  /** Another one in each process. */
  readonly holder: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Whoever has not renewed it for so long, by the clock of who looks, has lost it: clocks of two pods are never compared. As client-go has it. */
const LEASE_MS = 15_000;
/** A leader that could not renew for so long stops, before another one begins. */
const STOP_MS = 10_000;
const RENEW_MS = 5_000;
const RETRY = { baseMs: 1_000, capMs: 4_000 };

/**
 * Does the work while this process leads, until the signal; begins anew when it leads again. Without a Lease, or the right to it, it always leads: so it was
 * before there were several pods. Gives the Lease back at the end, so that another pod need not wait. Never rejects.
 */
export async function whileLeading(
  options: LeaderOptions,
  work: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { clock, logger } = options;
  const leader = new Leader(options, work);
  const onFailed = (error: unknown, { before: attempt, repeated }: Failure): void => {
    const { code, message } = toFairleadError(error);
    if (!repeated) logger.warn('leader.not_renewed', { attempt, code, reason: message });
  };
  const loop = { work: () => leader.renewOnce(), intervalMs: RENEW_MS, jitter: 0.2, retry: RETRY, onFailed, clock };
  await runLoop(loop, signal);
  await leader.end();
}

class Leader {
  readonly #options: LeaderOptions;
  readonly #work: (signal: AbortSignal) => Promise<void>;
  #leading: { readonly stop: AbortController; readonly done: Promise<void> } | null = null;
  /** By our clock. */
  #renewedMs = Number.NEGATIVE_INFINITY;
  #seen: { readonly text: string; readonly atMs: number } | null = null;
  #alone = false;

  constructor(options: LeaderOptions, work: (signal: AbortSignal) => Promise<void>) {
    this.#options = options;
    this.#work = work;
  }

  /** Takes or renews the Lease, if it is ours or nobody's. Rejects if it cannot be told. */
  async renewOnce(): Promise<void> {
    const { clock } = this.#options;
    try {
      const atMs = clock.monotonicMs();
      if (await this.#renew(atMs)) {
        this.#renewedMs = atMs;
        this.#begin();
      } else await this.#stop();
    } finally {
      if (clock.monotonicMs() - this.#renewedMs > STOP_MS) await this.#stop();
    }
  }

  /** Gives back what is ours. */
  async end(): Promise<void> {
    const { lease, holder, logger } = this.#options;
    const led = this.#leading !== null && !this.#alone;
    await this.#stop();
    if (!led) return;
    try {
      const held = await lease.read();
      if (held.holder === holder) await lease.write('', held.version);
    } catch (error) {
      const { code, message } = toFairleadError(error);
      logger.warn('leader.not_given_back', { code, reason: message });
    }
  }

  async #renew(nowMs: number): Promise<boolean> {
    const { lease, holder, logger } = this.#options;
    try {
      const held = await lease.read();
      const text = JSON.stringify([held.holder, held.renewed]);
      if (this.#seen?.text !== text) this.#seen = { text, atMs: nowMs };
      const lapsed = nowMs - this.#seen.atMs > LEASE_MS;
      if (held.holder !== '' && held.holder !== holder && !lapsed) return false;
      await lease.write(holder, held.version);
      this.#alone = false;
      return true;
    } catch (error) {
      const { code, message } = toFairleadError(error);
      // Another pod was earlier.
      if (code === 'CONFLICT') return false;
      if (code !== 'NOT_FOUND' && code !== 'FORBIDDEN') throw error;
      if (!this.#alone) logger.info('leader.without_lease', { code, reason: message });
      this.#alone = true;
      return true;
    }
  }

  #begin(): void {
    if (this.#leading) return;
    if (!this.#alone) this.#options.logger.info('leader.began', {});
    const stop = new AbortController();
    this.#leading = { stop, done: this.#work(stop.signal) };
  }

  async #stop(): Promise<void> {
    if (!this.#leading) return;
    const { stop, done } = this.#leading;
    this.#leading = null;
    stop.abort();
    await done;
    this.#options.logger.info('leader.ended', {});
  }
}
