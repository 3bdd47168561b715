import { readFile } from 'node:fs/promises';
import type { Clock } from '@fairlead/clock';
import { messageOf } from '@fairlead/errors';
import { RunLoop } from '@fairlead/loop';
import type { Logger } from '@fairlead/observability';
import { checkMaterial, type TlsMaterial, type TlsSource } from './tls-material.js';

export interface CertificateFilesOptions {
  /** PEM chain, leaf first. */
  readonly certFile: string;
  readonly keyFile: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How often the files are read again, default 30,000. */
  readonly pollMs?: number;
}

/**
 * A certificate from files, taken anew when they change. They are polled: watching misses the symbolic links that
 * Kubernetes swaps. Files that do not fit together, as in the middle of a change, are left alone until they do.
 */
export async function certificateFiles(options: CertificateFilesOptions): Promise<TlsSource> {
  let current = await read(options);
  let notAfter = checkMaterial(current).validToDate;
  const listeners: ((material: TlsMaterial) => void)[] = [];
  const take = (next: TlsMaterial): void => {
    if (next.cert === current.cert && next.key === current.key) return;
    notAfter = checkMaterial(next).validToDate;
    current = next;
    for (const listener of listeners) listener(next);
    options.logger.info('tls.reloaded', { notAfter: notAfter.toISOString() });
  };
  const { clock, logger, pollMs = 30_000 } = options;
  const polling = new RunLoop({
    clock,
    intervalMs: pollMs,
    work: async () => take(await read(options)),
    onFailed: (error) => logger.warn('tls.files_not_usable', { reason: messageOf(error) }),
  });
  return {
    get current() {
      return current;
    },
    get notAfter() {
      return notAfter;
    },
    onChange: (listener) => void listeners.push(listener),
    [Symbol.asyncDispose]: () => polling[Symbol.asyncDispose](),
  };
}

async function read({ certFile, keyFile }: CertificateFilesOptions): Promise<TlsMaterial> {
  const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
  return { cert, key };
}
