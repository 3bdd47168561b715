import { X509Certificate, createPrivateKey } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { FairleadError } from '@fairlead/errors';

/** A server's certificate chain and key, PEM. */
export interface TlsMaterial {
  readonly cert: string;
  readonly key: string;
}

/** A server certificate that changes while the process runs. */
export interface TlsSource extends AsyncDisposable {
  readonly current: TlsMaterial;
  /** When the current certificate ends. */
  readonly notAfter: Date;
  /** Called after each change, from then on. */
  onChange(listener: (material: TlsMaterial) => void): void;
}

/** INVALID_ARGUMENT unless key and certificate can be read and belong together; returns the leaf. Nothing of the key is repeated. */
export function checkMaterial({ cert, key }: TlsMaterial): X509Certificate {
  try {
    const leaf = new X509Certificate(cert);
    if (leaf.checkPrivateKey(createPrivateKey(key)) && createSecureContext({ cert, key })) return leaf;
  } catch {
    throw new FairleadError('INVALID_ARGUMENT', 'the TLS certificate or its key is not readable PEM');
  }
  throw new FairleadError('INVALID_ARGUMENT', 'the TLS key does not belong to the certificate');
}
