import { randomBytes, type webcrypto } from 'node:crypto';
import { FairleadError } from '@fairlead/errors';
import { SIGNING_ALGORITHM, generatePrivateKey, importCaKeyPair, importKeyPair } from './private-key.js';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  Pkcs10CertificateRequestGenerator,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
  type Extension,
} from './x509.js';

/** A CA certificate and its key. Whoever holds this can sign: it stays in the keys service. */
export interface Authority {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

export interface AuthorityOptions {
  readonly commonName: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** Seconds are all a certificate can say; a period that ends before it begins is INVALID_ARGUMENT. */
export interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** A self-signed root that may certify issuing CAs, its successor (see `crossSign`), and nothing deeper. */
export async function createRoot(options: AuthorityOptions): Promise<Authority> {
  const privateKeyPem = await generatePrivateKey();
  const keys = await importKeyPair(privateKeyPem);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [options.commonName] }],
    serialNumber: newSerial(),
    ...wholeSeconds(options),
    keys,
    signingAlgorithm: SIGNING_ALGORITHM,
    extensions: [...caExtensions(2), await SubjectKeyIdentifierExtension.create(keys.publicKey)],
  });
  return { certificatePem: toPem(certificate), privateKeyPem };
}

/** A CA below the root that certifies leaves only (path length 0). */
export async function createIssuing(root: Authority, options: AuthorityOptions): Promise<Authority> {
  const privateKeyPem = await generatePrivateKey();
  const { publicKey } = await importKeyPair(privateKeyPem);
  const certificatePem = await signCertificate(root, {
    ...options,
    publicKey,
    serial: newSerial(),
    subject: [{ CN: [options.commonName] }],
    extensions: caExtensions(0),
  });
  return { certificatePem, privateKeyPem };
}

/**
 * The certificate of another root's key by this root: whoever trusts only this one can still verify what the other issues
 * (RFC 5280, 3.2, "cross-certificates"). It ends with this root's own life at the latest.
 */
export async function crossSign(root: Authority, otherRootPem: string, validity: Validity): Promise<string> {
  const other = new X509Certificate(otherRootPem);
  const rootEnd = new X509Certificate(root.certificatePem).notAfter;
  return signCertificate(root, {
    notBefore: validity.notBefore,
    notAfter: rootEnd < validity.notAfter ? rootEnd : validity.notAfter,
    publicKey: new Uint8Array(other.publicKey.rawData),
    serial: newSerial(),
    subject: other.subjectName.toJSON(),
    extensions: caExtensions(1),
    // What the other root issues names this as its issuer's key, however that root's maker derived it.
    subjectKeyId: other.getExtension(SubjectKeyIdentifierExtension) ?? undefined,
  });
}

/** What is signed: the caller has checked all of it. */
export interface Certificate extends Validity {
  readonly publicKey: webcrypto.CryptoKey | Uint8Array<ArrayBuffer>;
  readonly serial: string;
  readonly subject: Record<string, string[]>[];
  readonly extensions: readonly Extension[];
  /** SHA-1 of the key unless given (RFC 5280, 4.2.1.2). */
  readonly subjectKeyId?: SubjectKeyIdentifierExtension | undefined;
}

/** Signs a certificate as PEM; key identifiers are added. */
export async function signCertificate(issuer: Authority, content: Certificate): Promise<string> {
  const { keys, signingAlgorithm } = await importCaKeyPair(issuer.privateKeyPem);
  const issuerCertificate = new X509Certificate(issuer.certificatePem);
  const issuerKeyId = issuerCertificate.getExtension(SubjectKeyIdentifierExtension)?.keyId;
  const certificate = await X509CertificateGenerator.create({
    subject: content.subject,
    issuer: issuerCertificate.subjectName,
    serialNumber: content.serial,
    ...wholeSeconds(content),
    publicKey: content.publicKey,
    signingKey: keys.privateKey,
    signingAlgorithm,
    extensions: [
      ...content.extensions,
      content.subjectKeyId ?? (await SubjectKeyIdentifierExtension.create(content.publicKey)),
      issuerKeyId === undefined
        ? await AuthorityKeyIdentifierExtension.create(keys.publicKey)
        : new AuthorityKeyIdentifierExtension(issuerKeyId),
    ],
  });
  return toPem(certificate);
}

/** 126 random bits, hex: positive and of one length, so that it has one spelling (RFC 5280, 4.1.2.2). */
export function newSerial(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes.toString('hex');
}

/** A PKCS#10 request (PEM) for an issuing CA below a root that is kept elsewhere. */
export async function createIssuingCsr(privateKeyPem: string, commonName: string): Promise<string> {
  const request = await Pkcs10CertificateRequestGenerator.create({
    name: [{ CN: [commonName] }],
    keys: await importKeyPair(privateKeyPem),
    signingAlgorithm: SIGNING_ALGORITHM,
    extensions: caExtensions(0),
  });
  return `${request.toString('pem').trim()}\n`;
}

function caExtensions(pathLength: number): Extension[] {
  return [
    new BasicConstraintsExtension(true, pathLength, true),
    new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
  ];
}

function wholeSeconds({ notBefore, notAfter }: Validity): Validity {
  if (!(notAfter.getTime() > notBefore.getTime())) {
    throw new FairleadError('INVALID_ARGUMENT', 'a certificate cannot end before it begins');
  }
  return { notBefore: floorToSecond(notBefore), notAfter: floorToSecond(notAfter) };
}

function floorToSecond(date: Date): Date {
  return new Date(Math.floor(date.getTime() / 1_000) * 1_000);
}

function toPem(certificate: X509Certificate): string {
  return `${certificate.toString('pem').trim()}\n`;
}
