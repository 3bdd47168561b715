import { hash, type X509Certificate } from 'node:crypto';
import { FairleadError } from '@fairlead/errors';
import { BoundedMap } from '@fairlead/limits';
import { parseCertificate, spkiSha256 } from './pem.js';
import { parseSpiffeId, type SpiffeId } from './spiffe-id.js';

/** What one of our certificates says. Only worth something once its chain has been verified. */
export interface PeerCertificate {
  readonly id: SpiffeId;
  /** 0 if the certificate carries none. */
  readonly generation: number;
  /** Of the trust bundle that counted when it was issued; 0 if the certificate carries none. */
  readonly trustVersion: number;
  /** Lower-case hex. */
  readonly serial: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** SHA-256 of the SubjectPublicKeyInfo, hex. */
  readonly spkiSha256: string;
}

/** What was read before, by the certificate's hash. A client that opens many connections shows the same one each time. */
const readBefore = new BoundedMap<string, PeerCertificate>({ max: 2_048, overflow: 'forget-oldest' });

/** Reads a leaf's identity; no trust is checked here. CERTIFICATE_REFUSED unless it has exactly one URI SAN, a SPIFFE id of ours. */
export function readPeerCertificate(der: Uint8Array): PeerCertificate {
  const key = hash('sha256', der, 'base64');
  const known = readBefore.get(key);
  if (known) return known;
  const peer = read(der);
  readBefore.set(key, peer);
  return peer;
}

/** Is it not valid yet, or not any more? A resumed TLS session was verified when it began, not now. */
export function isOutOfDate({ notBefore, notAfter }: PeerCertificate, nowMs: number = Date.now()): boolean {
  return nowMs < notBefore.getTime() || nowMs > notAfter.getTime();
}

/** By Node alone: the library that reads every extension takes 25 ms to load, and an agent that starts is waited for. */
function read(der: Uint8Array): PeerCertificate {
  const certificate = parseCertificate(der);
  const units = organizationalUnits(certificate);
  return {
    id: readId(certificate),
    generation: readCount(units, 'generation'),
    trustVersion: readCount(units, 'trust'),
    serial: canonicalSerial(certificate.serialNumber),
    notBefore: readTime(certificate.validFrom),
    notAfter: readTime(certificate.validTo),
    spkiSha256: spkiSha256(certificate),
  };
}

/** The object identifier of subjectAltName, 2.5.29.17, in DER. */
const SUBJECT_ALT_NAME = Buffer.from([0x06, 0x03, 0x55, 0x1d, 0x11]);

/** Node writes a name that could be taken for two in quotes. Our CAs issue none, so whoever has one is refused. */
function readId({ raw, subjectAltName = '' }: X509Certificate): SpiffeId {
  // Of two such extensions Node shows the first.
  const once = raw.includes(SUBJECT_ALT_NAME) && raw.indexOf(SUBJECT_ALT_NAME) === raw.lastIndexOf(SUBJECT_ALT_NAME);
  const uris = subjectAltName.split(', ').filter((name) => name.startsWith('URI:'));
  const [uri] = uris;
  if (!once || subjectAltName.includes('"') || uris.length !== 1 || !uri) {
    throw refused('it does not have exactly one URI name');
  }
  const id = parseSpiffeId(uri.slice('URI:'.length));
  if (id === null) throw refused('its URI name is not one of our SPIFFE ids');
  return id;
}

/** Node writes an attribute a line, those of one set with ` + ` between them, and escapes both within values. */
function organizationalUnits({ subject }: X509Certificate): string[] {
  const attributes = (subject ?? '').split(/\n| \+ /);
  return attributes.filter((attribute) => attribute.startsWith('OU=')).map((unit) => unit.slice('OU='.length));
}

function readTime(text: string): Date {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw refused('its validity cannot be read');
  return time;
}

/** `<name>:<n>`, once at most; 0 if there is none. */
function readCount(units: readonly string[], name: 'generation' | 'trust'): number {
  const [unit, ...others] = units.filter((value) => value.startsWith(`${name}:`));
  if (unit === undefined) return 0;
  const digits = /^(?:0|[1-9]\d{0,9})$/.exec(unit.slice(name.length + 1))?.[0];
  if (digits === undefined || others.length > 0) throw refused(`its ${name} cannot be read`);
  return Number(digits);
}

/** Lower-case hex of whole bytes without leading zero bytes: one number, one spelling. */
export function canonicalSerial(hex: string): string {
  const digits = hex.toLowerCase().replace(/^(00)+(?=[0-9a-f]{2})/, '');
  return digits.length % 2 === 0 ? digits : `0${digits}`;
}

function refused(why: string): FairleadError {
  return new FairleadError('CERTIFICATE_REFUSED', `the certificate is refused: ${why}`);
}
