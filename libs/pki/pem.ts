import { X509Certificate, createHash } from 'node:crypto';
import { FairleadError } from '@fairlead/errors';

/** Every PEM block of a text, in order, each ending with a newline; what stands between blocks is dropped. */
export function splitPem(text: string): string[] {
  const blocks = text.match(/-----BEGIN ([A-Z0-9 ]{1,64})-----[A-Za-z0-9+/=\s]+-----END \1-----/g) ?? [];
  return blocks.map((block) => `${block.replaceAll('\r\n', '\n')}\n`);
}

/** A certificate of one PEM block or of DER without anything after it. CERTIFICATE_REFUSED. */
export function parseCertificate(source: string | Uint8Array): X509Certificate {
  const certificate = readCertificate(source);
  if (typeof source !== 'string' && certificate.raw.length !== source.length) {
    throw new FairleadError('CERTIFICATE_REFUSED', 'there are bytes after the end of the certificate');
  }
  return certificate;
}

/** SHA-256 of a certificate's SubjectPublicKeyInfo, hex: it outlives a renewal with the same key. CERTIFICATE_REFUSED. */
export function spkiPin(certificatePem: string): string {
  return spkiSha256(parseCertificate(certificatePem));
}

/** SHA-256 of the certificate's SubjectPublicKeyInfo, hex. */
export function spkiSha256(certificate: X509Certificate): string {
  return sha256Hex(certificate.publicKey.export({ type: 'spki', format: 'der' }));
}

/**
 * A chain as it is shown to peers: without certificates that issued themselves. A peer trusts its own copy of the root or
 * none (RFC 8446, 4.4.2), and reading one more certificate costs it for each connection. CERTIFICATE_REFUSED.
 */
export function withoutRoot(chainPem: readonly string[]): string[] {
  return chainPem.filter((pem, index) => index === 0 || !isSelfIssued(parseCertificate(pem)));
}

function isSelfIssued(certificate: X509Certificate): boolean {
  return certificate.checkIssued(certificate);
}

function readCertificate(source: string | Uint8Array): X509Certificate {
  try {
    const certificate = new X509Certificate(source);
    // The key is decoded on first use: do it where a failure is told apart from a bug.
    void certificate.publicKey;
    return certificate;
  } catch (cause) {
    throw new FairleadError('CERTIFICATE_REFUSED', 'this is not an X.509 certificate', { cause });
  }
}

/** SHA-256 as 64 lower-case hex digits; a string is hashed as UTF-8. */
export function sha256Hex(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

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
