import type { X509Certificate as NativeCertificate } from 'node:crypto';
import { FairleadError } from '@fairlead/errors';
import { parseDetails } from './ca-certificate.js';
import { readPeerCertificate, type PeerCertificate } from './peer-certificate.js';
import { parseCertificate } from './pem.js';
import { isP256 } from './private-key.js';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  type X509Certificate,
} from './x509.js';

export interface VerifyOptions {
  /** The time at which every certificate of the path must be valid. */
  readonly at: Date;
  readonly usage: 'clientAuth' | 'serverAuth';
  /** If given, the identity must belong to it. */
  readonly trustDomain?: string;
}

/** Leaf, two intermediates and a root: what the contracts allow. */
const MAX_CHAIN = 4;

/** A peer whose chain was verified, and within which times the same path can be verified again, both included. */
export interface VerifiedPath {
  readonly peer: PeerCertificate;
  /** The latest of all its certificates, the root's among them. */
  readonly notBefore: Date;
  /** The earliest of them. */
  readonly notAfter: Date;
}

/**
 * Verifies leaf-first PEM certificates up to one of the roots and reads the leaf's identity. Checked on the way:
 * signatures and their hash, CA flags and key usage, path length, validity, extended key usage, and that no critical
 * extension is unknown (RFC 5280, 6.1). A root sent along proves nothing: only `rootsPem` is trusted. CERTIFICATE_REFUSED.
 */
export async function verifyChain(
  chainPem: readonly string[],
  rootsPem: readonly string[],
  options: VerifyOptions,
): Promise<PeerCertificate> {
  return (await verifyPath(chainPem, rootsPem, options)).peer;
}

/** The same, for who remembers what was verified: it counts as long as these roots are trusted, and no longer than the path does. CERTIFICATE_REFUSED. */
export async function verifyPath(
  chainPem: readonly string[],
  rootsPem: readonly string[],
  options: VerifyOptions,
): Promise<VerifiedPath> {
  if (chainPem.length > MAX_CHAIN) throw refused(`the chain is longer than ${MAX_CHAIN}`);
  const [leaf, ...others] = chainPem.map(read);
  if (!leaf) throw refused('the chain is empty');
  checkLeaf(leaf, options);
  const path = [leaf, ...climb(leaf, others, rootsPem.map(read), options)];
  const peer = readPeerCertificate(leaf.native.raw);
  if (options.trustDomain !== undefined && peer.id.trustDomain !== options.trustDomain) {
    throw refused(`it belongs to the trust domain ${peer.id.trustDomain}, not to ${options.trustDomain}`);
  }
  const times = (of: 'notBefore' | 'notAfter'): number[] => path.map(({ details }) => details[of].getTime());
  return {
    peer,
    notBefore: new Date(Math.max(...times('notBefore'))),
    notAfter: new Date(Math.min(...times('notAfter'))),
  };
}

interface Link {
  readonly native: NativeCertificate;
  readonly details: X509Certificate;
}

function read(pem: string): Link {
  const native = parseCertificate(pem);
  return { native, details: parseDetails(native.raw) };
}

function checkLeaf(leaf: Link, options: VerifyOptions): void {
  checkAny(leaf, options);
  if (leaf.details.getExtension(BasicConstraintsExtension)?.ca) throw refused('a CA is no peer');
  if (!isP256(leaf.native.publicKey)) throw refused('its key is not ECDSA on P-256');
  if (!allows(leaf, KeyUsageFlags.digitalSignature)) throw refused('its key usage does not allow signatures');
  if (!leaf.details.getExtension(ExtendedKeyUsageExtension)) throw refused('it names no purpose');
}

/** The issuers on the way, the trusted root last. */
function climb(leaf: Link, intermediates: readonly Link[], roots: readonly Link[], options: VerifyOptions): Link[] {
  const issuers: Link[] = [];
  let child = leaf;
  for (let below = 0; below < MAX_CHAIN; below += 1) {
    const root = roots.find((candidate) => isIssuer(candidate, child));
    const issuer = root ?? intermediates.find((candidate) => candidate !== child && isIssuer(candidate, child));
    if (!issuer) throw refused('it does not lead to a trusted root');
    checkIssuer(issuer, below, options);
    issuers.push(issuer);
    if (root) return issuers;
    child = issuer;
  }
  throw refused('it does not lead to a trusted root');
}

/** `below` counts the CAs between this one and the leaf. */
function checkIssuer(issuer: Link, below: number, options: VerifyOptions): void {
  checkAny(issuer, options);
  const constraints = issuer.details.getExtension(BasicConstraintsExtension);
  if (!constraints?.ca || !allows(issuer, KeyUsageFlags.keyCertSign)) throw refused('its issuer is not a CA');
  if (constraints.pathLength !== undefined && constraints.pathLength < below) {
    throw refused('its chain is longer than its issuer allows');
  }
}

function checkAny({ details }: Link, { at, usage }: VerifyOptions): void {
  if (at < details.notBefore) throw refused(`it is not valid before ${details.notBefore.toISOString()}`);
  if (at > details.notAfter) throw refused(`it expired at ${details.notAfter.toISOString()}`);
  const purposes = details.getExtension(ExtendedKeyUsageExtension);
  if (purposes && !purposes.usages.includes(ExtendedKeyUsage[usage])) throw refused(`it is not meant for ${usage}`);
  const unknown = details.extensions.find((extension) => extension.critical && !isKnown(extension));
  if (unknown) throw refused(`it has the unknown critical extension ${unknown.type}`);
}

function isKnown(extension: object): boolean {
  return [
    BasicConstraintsExtension,
    KeyUsagesExtension,
    ExtendedKeyUsageExtension,
    SubjectAlternativeNameExtension,
  ].some((known) => extension instanceof known);
}

function allows({ details }: Link, flag: KeyUsageFlags): boolean {
  const usage = details.getExtension(KeyUsagesExtension);
  return usage !== null && (usage.usages & flag) !== 0;
}

function isIssuer(candidate: Link, child: Link): boolean {
  const hash = child.details.signatureAlgorithm.hash?.name;
  return (
    ['SHA-256', 'SHA-384', 'SHA-512'].includes(hash) &&
    child.native.checkIssued(candidate.native) &&
    child.native.verify(candidate.native.publicKey)
  );
}

function refused(why: string): FairleadError {
  return new FairleadError('CERTIFICATE_REFUSED', `the certificate is refused: ${why}`);
}
