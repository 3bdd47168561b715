import type { KeyObject } from 'node:crypto';
import { FairleadError } from '@fairlead/errors';
import { parseDetails } from './certificate-details.js';
import { parseCertificate } from './pem.js';
import { BasicConstraintsExtension, KeyUsageFlags, KeyUsagesExtension } from './x509.js';

/** What a certificate says about the CA that it is. */
export interface CaCertificate {
  /** On one line. */
  readonly subject: string;
  /** CAs that may stand between this one and a leaf; Infinity if it does not say. */
  readonly pathLength: number;
  /** It is certified by its own key. */
  readonly selfSigned: boolean;
  readonly publicKey: KeyObject;
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** CERTIFICATE_REFUSED for one that cannot be read, or may not sign certificates. */
export function readCaCertificate(pem: string): CaCertificate {
  const native = parseCertificate(pem);
  const details = parseDetails(native.raw);
  const constraints = details.getExtension(BasicConstraintsExtension);
  const usage = details.getExtension(KeyUsagesExtension);
  if (!constraints?.ca || (usage && (usage.usages & KeyUsageFlags.keyCertSign) === 0)) {
    throw new FairleadError('CERTIFICATE_REFUSED', 'the certificate is refused: it is not of a CA');
  }
  return {
    subject: native.subject.split('\n').join(', '),
    pathLength: constraints.pathLength ?? Infinity,
    selfSigned: native.checkIssued(native) && native.verify(native.publicKey),
    publicKey: native.publicKey,
    notBefore: details.notBefore,
    notAfter: details.notAfter,
  };
}
