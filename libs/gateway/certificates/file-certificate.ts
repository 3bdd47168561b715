import { X509Certificate, createPrivateKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { systemClock, type Clock } from '@fairlead/clock';
import { FairleadError, messageOf } from '@fairlead/errors';
import { runLoop } from '@fairlead/loop';
import type { Logger } from '@fairlead/observability';
import { splitPem } from '@fairlead/pki';
import type { CertificateSource, TlsIdentity } from '@fairlead/tunnel/gateway';

/** PEM files that somebody else replaces before they end, as cert-manager does in a mounted Secret. */
export interface CertificateFiles {
  /** Leaf first. */
  readonly certFile: string;
  readonly keyFile: string;
}

/** Not by notifications of the file system: a mounted Secret is replaced by a link, on some systems without one. */
const OBSERVE_EVERY_MS = 10_000;

/**
 * A certificate of one's own, in place of one by `keys`. INVALID_ARGUMENT if it cannot be used at first. Later a pair of files
 * that is no such pair, or has ended, changes nothing: the last good one stays in use, and the log says so once.
 */
export class FileCertificate implements CertificateSource {
  readonly #files: CertificateFiles;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #listeners = new Set<(identity: TlsIdentity) => void>();
  #current: TlsIdentity | null = null;
  /** What the files held last, when they were good, and when they were not. */
  #observed = '';
  #inUse = '';
  #refused: { readonly text: string; readonly times: number } | null = null;

  constructor(files: CertificateFiles, logger: Logger, clock: Clock = systemClock) {
    this.#files = files;
    this.#logger = logger.with({ certificate: files.certFile });
    this.#clock = clock;
  }

  get current(): TlsIdentity | null {
    return this.#current;
  }

  onChange(listener: (identity: TlsIdentity) => void): void {
    this.#listeners.add(listener);
    if (this.#current) listener(this.#current);
  }

  /** Resolves with the first; looks for others until the signal. */
  async start(signal: AbortSignal): Promise<TlsIdentity> {
    const { pem, key } = await this.#read();
    const first = parsePair(pem, key);
    this.#inUse = pem + key;
    this.#use(first);
    const observing = {
      work: () => this.#observe(),
      intervalMs: OBSERVE_EVERY_MS,
      onFailed: (error: unknown) => this.#refuse(messageOf(error)),
      clock: this.#clock,
    };
    void runLoop(observing, signal);
    return first;
  }

  async #observe(): Promise<void> {
    this.#observed = '';
    const { pem, key } = await this.#read();
    this.#observed = pem + key;
    if (this.#observed !== this.#inUse) {
      const next = parsePair(pem, key);
      if (next.notAfter.getTime() < this.#clock.nowMs()) throw unusable('it has ended');
      this.#inUse = this.#observed;
      this.#use(next);
    }
    this.#refused = null;
  }

  /** Says so when it is seen a second time, and no more: what is seen once may be half written. */
  #refuse(reason: string): void {
    const text = this.#observed;
    const times = this.#refused?.text === text ? this.#refused.times + 1 : 1;
    this.#refused = { text, times };
    if (times === 2) this.#logger.error('certificate.file.refused', { reason });
  }

  #use(identity: TlsIdentity): void {
    this.#current = identity;
    this.#logger.info('certificate.file.read', { notAfter: identity.notAfter.toISOString() });
    for (const listener of this.#listeners) listener(identity);
  }

  async #read(): Promise<{ pem: string; key: string }> {
    try {
      const [pem, key] = await Promise.all([
        readFile(this.#files.certFile, 'utf8'),
        readFile(this.#files.keyFile, 'utf8'),
      ]);
      return { pem, key };
    } catch (cause) {
      throw unusable('its files cannot be read', cause);
    }
  }
}

function parsePair(pem: string, key: string): TlsIdentity {
  try {
    const chain = splitPem(pem).map((block) => new X509Certificate(block));
    const [leaf] = chain;
    if (!leaf) throw unusable('there is no certificate in it');
    if (!leaf.checkPrivateKey(createPrivateKey(key))) throw unusable('the key is of another certificate');
    const chainPem = chain.map((certificate) => certificate.toString());
    return {
      keyPem: key,
      chainPem,
      rootsPem: [],
      notBefore: new Date(leaf.validFrom),
      notAfter: new Date(leaf.validTo),
    };
  } catch (cause) {
    if (cause instanceof FairleadError) throw cause;
    // The cause is dropped on purpose: nothing of a private key may reach a log.
    throw unusable('the certificate or its key is not readable PEM');
  }
}

function unusable(why: string, cause?: unknown): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', `the certificate for the doors cannot be used: ${why}`, { cause });
}
