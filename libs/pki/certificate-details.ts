import { FairleadError } from '@fairlead/errors';
import { X509Certificate } from './x509.js';

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
