import { parseCertificate } from './pem.js';

/**
 * Which of these roots a chain, leaf first, leads to by the shortest way; null if to none. While a root is rotated a chain leads
 * to both, the new root's by way of the old one's certificate for it. It tells whose a certificate is, not whether it counts:
 * validity and usage are not looked at. CERTIFICATE_REFUSED for what is no certificate.
 */
export function rootOf(chainPem: readonly string[], rootsPem: readonly string[]): string | null {
  const roots = rootsPem.map((pem) => ({ pem, certificate: parseCertificate(pem) }));
  for (const child of chainPem.map(parseCertificate)) {
    const issuer = roots.find(
      ({ certificate }) => child.checkIssued(certificate) && child.verify(certificate.publicKey),
    );
    if (issuer) return issuer.pem;
  }
  return null;
}
