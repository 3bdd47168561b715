import type { KeyObject } from 'node:crypto';
import { FairleadError } from '@fairlead/errors';
import { parseCertificate } from './pem.js';
import { BasicConstraintsExtension, KeyUsageFlags, KeyUsagesExtension, X509Certificate } from './x509.js';

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

/** The library's view of a certificate, every extension parsed. CERTIFICATE_REFUSED. */
export function parseDetails(der: Uint8Array): X509Certificate {
  try {
    const certificate = new X509Certificate(new Uint8Array(der));
    // These parse on first use: do it where a failure is told apart from a bug.
    const { extensions, subjectName, notBefore, notAfter, signatureAlgorithm } = certificate;
    void [extensions, subjectName, notBefore, notAfter, signatureAlgorithm];
    return certificate;
  } catch (cause) {
    throw new FairleadError('CERTIFICATE_REFUSED', 'the certificate is refused: it cannot be read', { cause });
  }
}
