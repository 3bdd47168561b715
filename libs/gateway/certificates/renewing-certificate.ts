import { systemClock, type Clock } from '@fairlead/clock';
import { messageOf } from '@fairlead/errors';
import { Wake, runLoop, type Failure } from '@fairlead/loop';
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
  readonly #wake = new Wake();

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
    this.#wake.call();
  }

  /** Resolves with the first identity; renewal then goes on in the background until the signal ends it. */
  start(signal: AbortSignal): Promise<TlsIdentity> {
    const first = Promise.withResolvers<TlsIdentity>();
    const renewal = {
      work: async () => {
        if (this.#untilRenewalMs() <= 0) first.resolve(await this.#fetch());
        return this.#untilRenewalMs();
      },
      intervalMs: RETRY.capMs,
      retry: RETRY,
      onFailed: (error: unknown, { before: attempt }: Failure) =>
        this.#logger.warn('certificate.unavailable', { attempt, reason: messageOf(error) }),
      clock: this.#clock,
      wake: this.#wake,
    };
    void runLoop(renewal, signal).then(() => first.reject(signal.reason as Error));
    return first.promise;
  }

  #untilRenewalMs(): number {
    if (!this.#current) return 0;
    const { notBefore, notAfter } = this.#current;
    const lifeMs = notAfter.getTime() - notBefore.getTime();
    const dueMs = Math.min(notBefore.getTime() + (lifeMs * 2) / 3, this.#soonMs);
    return Math.max(dueMs, this.#fetchedMs + 1_000) - this.#clock.nowMs();
  }

  async #fetch(): Promise<TlsIdentity> {
    const identity = await this.#obtain();
    this.#current = identity;
    this.#fetchedMs = this.#clock.nowMs();
    this.#soonMs = Number.POSITIVE_INFINITY;
    this.#logger.info('certificate.obtained', { notAfter: identity.notAfter.toISOString() });
    for (const listener of this.#listeners) listener(identity);
    return identity;
  }
}
