import { fullJitterMs, type Clock } from '@fairlead/clock';
import { FairleadError, toFairleadError } from '@fairlead/errors';
import type { Objects } from '@fairlead/kube/rest';
import type { Logger } from '@fairlead/observability';
import { FIELD_MANAGER } from '../names.js';
import {
  leaseObject,
  leaseRef,
  leaseSpec,
  microTime,
  recordOf,
  type LeaseContents,
  type LeaseRecord,
} from './lease-record.js';
import { readClocks, Term } from './term.js';

/** How long who says nothing may hold a Lease. The values are client-go's (tools/leaderelection). */
export interface LeaseLimits {
  /** After so long without a sign of life from its holder, as another one sees it, that one takes it. */
  readonly durationMs: number;
  /** So long after it was renewed its holder still writes. Less than the duration: what is under way has the rest to arrive. */
  readonly deadlineMs: number;
  /** Between two attempts to renew or to take it, on average. */
  readonly retryMs: number;
}

export const LEASE_LIMITS: LeaseLimits = { durationMs: 15_000, deadlineMs: 10_000, retryMs: 2_000 };

/** What only its metadata was changed of is renewed at once, so often. */
const MAX_RENEWALS = 3;

interface LeaseOptions {
  readonly objects: Objects;
  readonly namespace: string;
  /** Nobody else's, not even of the same pod before a restart: only so does a Lease with this name prove that nobody else had it since. */
  readonly holder: string;
  readonly clock: Clock;
  readonly limits: LeaseLimits;
  readonly logger: Logger;
  /** Another one may act, and was seen to be alive or not long dead. */
  readonly onStandby: () => void;
  /** It could not be written, or not even read. */
  readonly onFailed: (error: FairleadError) => Promise<void>;
}

/**
 * The Lease `fairlead-installer`: who holds it acts in the cluster. Each write of it is conditional on the version that was read, so that of
 * two that reach for it one gets it; and as long as the version is its holder's own, nobody else had it, however late it is renewed.
 */
export class Lease {
  #term: Term | null = null;
  #held: LeaseRecord | null = null;
  /** The record of another one, and since when it is unchanged as far as is known here: no clock of another machine counts. */
  #seen: { readonly key: string; readonly sinceMs: number } | null = null;
  #attempting: Promise<void> | null = null;
  #got = Promise.withResolvers<Term>();

  constructor(private readonly options: LeaseOptions) {}

  /** Reaches for it and keeps it until the signal, then gives it back: whoever waits has it at once. Does not fail. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, limits } = this.options;
    for (let failures = 0; !signal.aborted;) {
      try {
        await this.#attempt();
        failures = 0;
      } catch (error) {
        await this.#failed(toFairleadError(error), failures);
        failures += 1;
      }
      const pauseMs = limits.retryMs / 2 + fullJitterMs(0, { baseMs: limits.retryMs, capMs: limits.retryMs });
      await clock.sleep(pauseMs, signal).catch(() => undefined);
    }
    await this.#release();
  }

  /** The present term, or the next. Null once the signal is aborted. */
  async term(signal: AbortSignal): Promise<Term | null> {
    if (signal.aborted) return null;
    const { promise: aborted, resolve } = Promise.withResolvers<null>();
    const stop = (): void => resolve(null);
    signal.addEventListener('abort', stop, { once: true });
    try {
      return await Promise.race([this.#got.promise, aborted]);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  /** One at a time, whoever wants it. */
  #attempt(): Promise<void> {
    this.#attempting ??= (this.#held ? this.#renew(this.#held) : this.#seek()).finally(() => {
      this.#attempting = null;
    });
    return this.#attempting;
  }

  async #renew(held: LeaseRecord): Promise<void> {
    const { clock } = this.options;
    for (let attempt = 0; attempt < MAX_RENEWALS; attempt += 1) {
      const at = readClocks(clock);
      const version = attempt === 0 ? held.resourceVersion : (this.#held?.resourceVersion ?? '');
      try {
        this.#held = await this.#write({ ...held, renewTime: microTime(at.wallMs) }, version);
        this.#term?.renewed(at);
        return;
      } catch (error) {
        const { code } = toFairleadError(error);
        if (code !== 'CONFLICT' && code !== 'NOT_FOUND') throw error;
        const found = await this.#read();
        // Its own answer was lost, or somebody changed nothing but its metadata.
        if (found?.holder !== this.options.holder) return this.#lose(found);
        this.#held = found;
      }
    }
  }

  async #seek(): Promise<void> {
    const { clock, limits, onStandby } = this.options;
    const found = await this.#read();
    if (found && !this.#isFree(found, limits)) return onStandby();
    const at = readClocks(clock);
    const now = microTime(at.wallMs);
    const transitions = found ? found.transitions + 1 : 0;
    try {
      this.#held = await this.#write(
        { ...this.#contents(), acquireTime: now, renewTime: now, transitions },
        found?.resourceVersion,
      );
    } catch (error) {
      // Another one was faster.
      if (toFairleadError(error).code !== 'CONFLICT') throw error;
      return onStandby();
    }
    this.#seen = null;
    this.#term = new Term(clock, limits.deadlineMs, at, () => this.#attempt());
    this.#got.resolve(this.#term);
    this.options.logger.info('installer.lease_taken', {
      holder: this.options.holder,
      from: found?.holder,
      transitions,
    });
  }

  #isFree({ holder, renewTime, transitions }: LeaseRecord, { durationMs }: LeaseLimits): boolean {
    if (holder === '') return true;
    const nowMs = this.options.clock.monotonicMs();
    const key = JSON.stringify([holder, renewTime, transitions]);
    if (this.#seen?.key !== key) this.#seen = { key, sinceMs: nowMs };
    return nowMs - this.#seen.sinceMs >= durationMs;
  }

  #lose(found: LeaseRecord | null): void {
    const { logger, holder } = this.options;
    logger.warn('installer.lease_lost', { holder, to: found?.holder });
    this.#term?.end();
    this.#term = null;
    this.#held = null;
    this.#got = Promise.withResolvers<Term>();
  }

  async #failed(error: FairleadError, failures: number): Promise<void> {
    const { logger, onFailed } = this.options;
    const { code, message: reason } = error;
    logger.log(failures === 0 ? 'warn' : 'debug', 'installer.lease_failed', { code, reason });
    try {
      await onFailed(error);
    } catch (error) {
      logger.debug('installer.lease_still_blocked', { reason: toFairleadError(error).message });
    }
  }

  async #release(): Promise<void> {
    const held = this.#held;
    this.#term?.end();
    if (!held) return;
    const now = microTime(this.options.clock.nowMs());
    try {
      await this.#write({ ...held, holder: '', renewTime: now, durationSeconds: 1 }, held.resourceVersion);
    } catch (error) {
      // It ends by itself.
      this.options.logger.debug('installer.lease_not_released', { reason: toFairleadError(error).message });
    }
  }

  #contents(): Pick<LeaseContents, 'holder' | 'durationSeconds'> {
    const { holder, limits } = this.options;
    return { holder, durationSeconds: Math.ceil(limits.durationMs / 1_000) };
  }

  async #read(): Promise<LeaseRecord | null> {
    const found = await this.options.objects.read(leaseRef(this.options.namespace));
    return found && recordOf(found);
  }

  /** CONFLICT if it is another version by now, or, without one, if it is there. */
  async #write(contents: LeaseContents, resourceVersion?: string): Promise<LeaseRecord> {
    const { objects, namespace } = this.options;
    if (resourceVersion === undefined) return recordOf(await objects.create(leaseObject(namespace, contents)));
    const body = { metadata: { resourceVersion }, spec: leaseSpec(contents) };
    return recordOf(await objects.patch(leaseRef(namespace), { type: 'merge', body }, FIELD_MANAGER));
  }
}
