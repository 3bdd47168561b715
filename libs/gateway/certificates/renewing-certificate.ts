import { fullJitterMs, systemClock, type Clock } from '@fairlead/clock';
import { messageOf } from '@fairlead/errors';
import type { Logger } from '@fairlead/observability';
import type { CertificateSource, TlsIdentity } from '@fairlead/tunnel/gateway';

const RETRY = { baseMs: 500, capMs: 15_000 };

/**
 * A certificate that is fetched with a fresh key, and again at two thirds of its life. While it cannot be fetched it
 * keeps trying, and the one it has stays in use. One is fetched at a time.
 */
export class RenewingCertificate implements CertificateSource {
  readonly #name: string;
  readonly #obtain: () => Promise<TlsIdentity>;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #listeners = new Set<(identity: TlsIdentity) => void>();
  #current: TlsIdentity | null = null;
  #fetchedMs = 0;
  /** When it was asked to be renewed, sooner than it would be by itself. */
  #soonMs = Number.POSITIVE_INFINITY;
  #woken = new AbortController();

  constructor(name: string, obtain: () => Promise<TlsIdentity>, logger: Logger, clock: Clock = systemClock) {
    this.#name = name;
    this.#obtain = obtain;
    this.#logger = logger.with({ certificate: name });
    this.#clock = clock;
  }

  get name(): string {
    return this.#name;
  }

  get current(): TlsIdentity | null {
    return this.#current;
  }

  /** Calls back with each new identity, and at once with the present one. */
  onChange(listener: (identity: TlsIdentity) => void): void {
    this.#listeners.add(listener);
    if (this.#current) listener(this.#current);
  }

  /** It is renewed at a random moment within this time, though it would not be due: another root has become the active one. */
  renewWithin(ms: number): void {
    this.#soonMs = Math.min(this.#soonMs, this.#clock.nowMs() + Math.random() * ms);
    this.#woken.abort();
    this.#woken = new AbortController();
  }

  /** Resolves with the first identity; renewal then goes on in the background until the signal ends it. */
  async start(signal: AbortSignal): Promise<TlsIdentity> {
    const first = await this.#fetch(signal);
    void this.#renewForever(signal);
    return first;
  }

  async #renewForever(signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        await this.#untilDue(signal);
        await this.#fetch(signal);
      }
    } catch (error) {
      if (!signal.aborted) this.#logger.error('certificate.renewal.stopped', { err: error });
    }
  }

  async #untilDue(signal: AbortSignal): Promise<void> {
    for (let waitMs = this.#untilRenewalMs(); waitMs > 0; waitMs = this.#untilRenewalMs()) {
      const either = AbortSignal.any([signal, this.#woken.signal]);
      await this.#clock.sleep(waitMs, either).catch(() => signal.throwIfAborted());
    }
  }

  #untilRenewalMs(): number {
    const { notBefore, notAfter } = this.#current as TlsIdentity;
    const lifeMs = notAfter.getTime() - notBefore.getTime();
    const dueMs = Math.min(notBefore.getTime() + (lifeMs * 2) / 3, this.#soonMs);
    // Timers hold 31 bits; a longer life is looked at again in a day.
    return Math.min(Math.max(dueMs, this.#fetchedMs + 1_000) - this.#clock.nowMs(), 24 * 3_600_000);
  }

  async #fetch(signal: AbortSignal): Promise<TlsIdentity> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        const identity = await this.#obtain();
        this.#current = identity;
        this.#fetchedMs = this.#clock.nowMs();
        this.#soonMs = Number.POSITIVE_INFINITY;
        this.#logger.info('certificate.obtained', { notAfter: identity.notAfter.toISOString() });
        for (const listener of this.#listeners) listener(identity);
        return identity;
      } catch (error) {
        signal.throwIfAborted();
        this.#logger.warn('certificate.unavailable', { attempt, reason: messageOf(error) });
        await this.#clock.sleep(fullJitterMs(attempt, RETRY), signal);
      }
    }
  }
}
