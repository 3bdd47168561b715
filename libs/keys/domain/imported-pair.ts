import { X509Certificate, type KeyObject } from 'node:crypto';
import { FairleadError, messageOf } from '@fairlead/errors';
import {
  checkCsr,
  createCsr,
  generatePrivateKey,
  isPairOf,
  issueIdentity,
  readCaCertificate,
  spkiPin,
  verifyChain,
  type CaCertificate,
} from '@fairlead/pki';
import { SKEW_MS, holdAuthority, type AuthorityPair, type AuthorityState } from './authority.js';

/** A root and an issuing CA that were made elsewhere, PEM, one certificate or key each. */
export interface CaMaterial {
  readonly rootPem: string;
  readonly issuingPem: string;
  readonly issuingKeyPem: string;
  /** Null: the root stays offline. */
  readonly rootKeyPem: string | null;
  /** The root's key, certified by the root that is active now. */
  readonly crossPem: string | null;
}

const MIN_RSA_BITS = 3_072;
const CURVES = new Set(['prime256v1', 'secp384r1', 'secp521r1']);

/**
 * Looks at everything that could go wrong later, and issues a certificate on trial, as an agent's or gateway's would be: what a critical
 * extension or a purpose forbids shows there. INVALID_ARGUMENT says what to change.
 */
export async function importedPair(material: CaMaterial, state: AuthorityState, now: Date): Promise<AuthorityPair> {
  const { rootPem, issuingPem, issuingKeyPem, rootKeyPem } = material;
  const root = readCa('root', rootPem, now);
  const issuing = readCa('issuing', issuingPem, now);
  if (!root.selfSigned) throw refused('root', 'it is not self-signed: give the root that the chain ends in');
  if (root.pathLength < 1) throw refused('root', 'its path length allows no issuing CA below it');
  checkStrength(root.publicKey);
  if (new X509Certificate(issuingPem).publicKey.equals(root.publicKey))
    throw refused('issuing', 'it has the key of the root');
  if (!isIssuedBy(issuingPem, rootPem)) throw refused('issuing', 'it was not issued by this root');
  if (issuing.notAfter > root.notAfter) throw refused('issuing', 'it ends after its root');
  checkKey('key', issuingKeyPem, issuing.publicKey);
  if (rootKeyPem !== null) checkKey('root-key', rootKeyPem, root.publicKey);
  await tryOut(material, now);
  const held = { kind: 'identity-root', state } as const;
  const heldRoot = holdAuthority({ certificatePem: normal(rootPem), privateKeyPem: rootKeyPem }, held);
  const below = { kind: 'identity-issuing', state, rootId: heldRoot.id } as const;
  const signer = { certificatePem: normal(issuingPem), privateKeyPem: issuingKeyPem };
  return { root: heldRoot, issuing: holdAuthority(signer, below) };
}

/** The certificate of the next root's key by the active one, made where the active root's key is. INVALID_ARGUMENT. */
export async function checkCross(material: CaMaterial, activeRootPem: string, now: Date): Promise<string> {
  const { crossPem, rootPem } = material;
  if (crossPem === null) {
    throw new FairleadError(
      'INVALID_ARGUMENT',
      'the active root is offline: have it certify the key of the new root (a CA certificate with the new root’s subject and key, path length 1), and give that as --cross',
    );
  }
  readCa('cross', crossPem, now);
  if (spkiPin(crossPem) !== spkiPin(rootPem)) throw refused('cross', 'it does not have the key of the new root');
  if (!isIssuedBy(crossPem, activeRootPem)) throw refused('cross', 'it was not issued by the active root');
  await tryOut({ ...material, rootPem: activeRootPem }, now, [normal(crossPem)]);
  return normal(crossPem);
}

function readCa(name: string, pem: string, now: Date): CaCertificate {
  const certificate = read(name, pem);
  const { notBefore, notAfter } = certificate;
  if (now < notBefore) throw refused(name, `it is not valid before ${notBefore.toISOString()}`);
  if (now >= notAfter) throw refused(name, `it ended on ${notAfter.toISOString()}`);
  return certificate;
}

function read(name: string, pem: string): CaCertificate {
  try {
    return readCaCertificate(pem);
  } catch (error) {
    throw refused(name, messageOf(error));
  }
}

function checkStrength(key: KeyObject): void {
  const { namedCurve, modulusLength } = key.asymmetricKeyDetails ?? {};
  const isEnough =
    (key.asymmetricKeyType === 'ec' && CURVES.has(namedCurve ?? '')) ||
    (key.asymmetricKeyType === 'rsa' && (modulusLength ?? 0) >= MIN_RSA_BITS);
  if (!isEnough)
    throw refused('root', `its key is neither ECDSA on P-256, P-384 or P-521 nor RSA with ${MIN_RSA_BITS} bits`);
}

function checkKey(name: string, keyPem: string, publicKey: KeyObject): void {
  if (!isPairOf(keyPem, publicKey)) throw refused(name, 'it is not the key of its certificate');
  const { namedCurve } = publicKey.asymmetricKeyDetails ?? {};
  if (namedCurve === 'prime256v1' || namedCurve === 'secp384r1') return;
  const why = name === 'root-key' ? '; leave it out, and the root is offline' : '';
  throw refused(name, `a key that signs here is ECDSA on P-256 or P-384${why}`);
}

async function tryOut(material: CaMaterial, now: Date, between: readonly string[] = []): Promise<void> {
  const issuer = { certificatePem: material.issuingPem, privateKeyPem: material.issuingKeyPem };
  const csr = await checkCsr(await createCsr(await generatePrivateKey()));
  const id = { kind: 'gateway', trustDomain: 'trial', name: 'trial' } as const;
  const validity = { notBefore: new Date(now.getTime() - SKEW_MS), notAfter: new Date(now.getTime() + SKEW_MS) };
  const leaf = await issueIdentity(issuer, { csr, id, ...validity });
  const chain = [leaf.certificatePem, material.issuingPem, ...between];
  for (const usage of ['clientAuth', 'serverAuth'] as const) {
    await verifyChain(chain, [material.rootPem], { at: now, usage }).catch((error: unknown) => {
      const where = between.length > 0 ? 'cross' : 'issuing';
      throw refused(where, `what it signs would be worth nothing: ${messageOf(error)}`);
    });
  }
}

function isIssuedBy(pem: string, issuerPem: string): boolean {
  const [certificate, issuer] = [new X509Certificate(pem), new X509Certificate(issuerPem)];
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

function normal(pem: string): string {
  return `${new X509Certificate(pem).toString().trim()}\n`;
}

function refused(name: string, why: string): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', `--${name}: ${why}`);
}
