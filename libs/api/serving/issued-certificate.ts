import { fullJitterMs, type Clock } from '@fairlead/clock';
import { NO_TENANT, keysRpc } from '@fairlead/contracts';
import { messageOf } from '@fairlead/errors';
import { RunLoop } from '@fairlead/loop';
import type { RpcClient } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import { createCsr, generatePrivateKey } from '@fairlead/pki';
import { checkMaterial, type TlsMaterial, type TlsSource } from './tls-material.js';

export interface IssuedCertificateOptions {
  readonly client: RpcClient;
  /** DNS names and addresses to certify. */
  readonly names: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
  /** Gives up waiting for the first certificate. */
  readonly signal?: AbortSignal;
}

const RETRY = { baseMs: 500, capMs: 30_000 };
/** Longer sleeps than this are cut: the wall clock may be set meanwhile. */
const LONGEST_SLEEP_MS = 3_600_000;

/**
 * A certificate from the keys service for a key that never leaves this process's memory; renewed with a fresh key when two
 * thirds of its time are over. Waits for keys as long as it takes, and keeps the old certificate while a renewal fails.
 */
export async function issuedCertificate(options: IssuedCertificateOptions): Promise<TlsSource> {
  const source = new IssuedSource(await obtain(options, options.signal));
  const renewing = renewInTime(source, options);
  return Object.assign(source, { [Symbol.asyncDispose]: () => renewing[Symbol.asyncDispose]() });
}

interface Certificate {
  readonly material: TlsMaterial;
  readonly notAfter: Date;
  readonly renewAtMs: number;
}

class IssuedSource implements Omit<TlsSource, keyof AsyncDisposable> {
  readonly #listeners: ((material: TlsMaterial) => void)[] = [];
  #certificate: Certificate;

  constructor(certificate: Certificate) {
    this.#certificate = certificate;
  }

  get current(): TlsMaterial {
    return this.#certificate.material;
  }

  get notAfter(): Date {
    return this.#certificate.notAfter;
  }

  get renewAtMs(): number {
    return this.#certificate.renewAtMs;
  }

  onChange(listener: (material: TlsMaterial) => void): void {
    this.#listeners.push(listener);
  }

  replace(certificate: Certificate): void {
    this.#certificate = certificate;
    for (const listener of this.#listeners) listener(certificate.material);
  }
}

function renewInTime(source: IssuedSource, options: IssuedCertificateOptions): RunLoop {
  const { clock, logger } = options;
  return new RunLoop({
    clock,
    intervalMs: 0,
    retry: RETRY,
    work: async () => {
      const waitMs = source.renewAtMs - clock.nowMs();
      if (waitMs > 0) return Math.min(waitMs, LONGEST_SLEEP_MS);
      source.replace(await issue(options));
      logger.info('tls.renewed', { notAfter: source.notAfter.toISOString() });
      return 0;
    },
    onFailed: (error, { before: attempt }) => logger.warn('tls.not_issued', { attempt, reason: messageOf(error) }),
  });
}

async function obtain(options: IssuedCertificateOptions, signal?: AbortSignal): Promise<Certificate> {
  for (let attempt = 0; ; attempt += 1) {
    signal?.throwIfAborted();
    try {
      return await issue(options);
    } catch (error) {
      options.logger.warn('tls.not_issued', { attempt, reason: messageOf(error) });
      await options.clock.sleep(fullJitterMs(attempt, RETRY), signal);
    }
  }
}

async function issue({ client, names, clock }: IssuedCertificateOptions): Promise<Certificate> {
  const key = await generatePrivateKey();
  const csr = Buffer.from(await createCsr(key)).toString('base64');
  const { chain } = await client.call(keysRpc.signServing, NO_TENANT, { csr, names: [...names] });
  const material = { cert: chain.join(''), key };
  const notAfter = checkMaterial(material).validToDate;
  const nowMs = clock.nowMs();
  return { material, notAfter, renewAtMs: nowMs + ((notAfter.getTime() - nowMs) * 2) / 3 };
}
