import { hash } from 'node:crypto';
import { FairleadError } from '@fairlead/errors';
import { parseCertificate, spkiSha256 } from './pem.js';
import { parseSpiffeId, type SpiffeId } from './spiffe-id.js';
import { SubjectAlternativeNameExtension, X509Certificate } from './x509.js';

/** What one of our certificates says. Only worth something once its chain has been verified. */
export interface PeerCertificate {
  readonly id: SpiffeId;
  /** 0 if the certificate carries none. */
  readonly generation: number;
  /** Lower-case hex. */
  readonly serial: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** SHA-256 of the SubjectPublicKeyInfo, hex. */
  readonly spkiSha256: string;
}

/** What was read before, by the certificate's hash, oldest first. A client that opens many connections shows the same one each time. */
const readBefore = new Map<string, PeerCertificate>();
const MAX_REMEMBERED = 2_048;

/** Reads a leaf's identity; no trust is checked here. CERTIFICATE_REFUSED unless it has exactly one URI SAN, a SPIFFE id of ours. */
export function readPeerCertificate(der: Uint8Array): PeerCertificate {
  const key = hash('sha256', der, 'base64');
  const known = readBefore.get(key);
  if (known) return known;
  const peer = read(der);
  if (readBefore.size >= MAX_REMEMBERED) readBefore.delete(readBefore.keys().next().value as string);
  readBefore.set(key, peer);
  return peer;
}

function read(der: Uint8Array): PeerCertificate {
  const native = parseCertificate(der);
  const certificate = parseDetails(der);
  return {
    id: readId(certificate),
    generation: readGeneration(certificate.subjectName.getField('OU')),
    serial: canonicalSerial(native.serialNumber),
    notBefore: certificate.notBefore,
    notAfter: certificate.notAfter,
    spkiSha256: spkiSha256(native),
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
    throw refused('it cannot be read', cause);
  }
}

function readId(certificate: X509Certificate): SpiffeId {
  const extensions = certificate.getExtensions(SubjectAlternativeNameExtension);
  const uris = extensions.flatMap((extension) => extension.names.items).filter((name) => name.type === 'url');
  const [uri] = uris;
  if (extensions.length !== 1 || uris.length !== 1 || !uri) throw refused('it does not have exactly one URI name');
  const id = parseSpiffeId(uri.value);
  if (id === null) throw refused('its URI name is not one of our SPIFFE ids');
  return id;
}

function readGeneration(units: readonly string[]): number {
  const [unit, ...others] = units.filter((value) => value.startsWith('generation:'));
  if (unit === undefined) return 0;
  const digits = /^generation:(0|[1-9]\d{0,9})$/.exec(unit)?.[1];
  if (digits === undefined || others.length > 0) throw refused('its generation cannot be read');
  return Number(digits);
}

/** Lower-case hex of whole bytes without leading zero bytes: one number, one spelling. */
export function canonicalSerial(hex: string): string {
  const digits = hex.toLowerCase().replace(/^(00)+(?=[0-9a-f]{2})/, '');
  return digits.length % 2 === 0 ? digits : `0${digits}`;
}

function refused(why: string, cause?: unknown): FairleadError {
  return new FairleadError('CERTIFICATE_REFUSED', `the certificate is refused: ${why}`, { cause });
}
