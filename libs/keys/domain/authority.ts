import { X509Certificate } from 'node:crypto';
import { createIssuing, createRoot, crossSign, readCaCertificate, type Authority } from '@fairlead/pki';

const DAY_MS = 86_400_000;
const ROOT_LIFE_MS = 10 * 365 * DAY_MS;
const ISSUING_LIFE_MS = 2 * 365 * DAY_MS;
/** Clocks of agents may be behind ours by this much. */
export const SKEW_MS = 5 * 60_000;

export type Tree = 'identity' | 'serving';
export type AuthorityKind = `${Tree}-${'root' | 'issuing'}`;
/** `next`: trusted, signs nothing yet; `retiring`: trusted, signs nothing more; `retired`: neither, and its key is destroyed. */
export type AuthorityState = 'next' | 'active' | 'retiring' | 'retired';

/** A root or an issuing CA. */
export interface HeldAuthority {
  readonly id: string;
  readonly kind: AuthorityKind;
  readonly state: AuthorityState;
  readonly certificatePem: string;
  /** Null: somebody else holds it. */
  readonly privateKeyPem: string | null;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** Of an issuing CA: the root that certified it. */
  readonly rootId: string | null;
  /** Of a root: the certificate of its key by the root before it, if that one allows chains so long. */
  readonly crossPem: string | null;
}

/** A root and the CA below it that signs. */
export interface AuthorityPair {
  readonly root: HeldAuthority;
  readonly issuing: HeldAuthority;
}

/** What a certificate says, with the rest as it begins. */
export function holdAuthority(
  authority: { readonly certificatePem: string; readonly privateKeyPem: string | null },
  rest: Pick<HeldAuthority, 'kind' | 'state'> & Partial<Pick<HeldAuthority, 'rootId' | 'crossPem'>>,
): HeldAuthority {
  const { validFrom, validTo } = new X509Certificate(authority.certificatePem);
  const validity = { notBefore: new Date(validFrom), notAfter: new Date(validTo) };
  return { id: crypto.randomUUID(), rootId: null, crossPem: null, ...authority, ...validity, ...rest };
}

/** Each root has a name of its own: whoever looks an issuer up by name finds one. */
export async function createPair(tree: Tree, state: AuthorityState, now: Date): Promise<AuthorityPair> {
  const notBefore = new Date(now.getTime() - SKEW_MS);
  const notAfter = new Date(now.getTime() + ROOT_LIFE_MS);
  const commonName = `Fairlead ${tree} root ${crypto.randomUUID().slice(0, 8)}`;
  const made = await createRoot({ commonName, notBefore, notAfter });
  const root = holdAuthority(made, { kind: `${tree}-root`, state });
  return { root, issuing: await createIssuingBelow(root, tree, now) };
}

/** An issuing CA in its root's state. The root's key must be at hand. */
export async function createIssuingBelow(root: HeldAuthority, tree: Tree, now: Date): Promise<HeldAuthority> {
  const notBefore = new Date(now.getTime() - SKEW_MS);
  const notAfter = new Date(Math.min(now.getTime() + ISSUING_LIFE_MS, root.notAfter.getTime()));
  const commonName = `Fairlead ${tree} issuing ${crypto.randomUUID().slice(0, 8)}`;
  const issuing = await createIssuing(withKey(root), { commonName, notBefore, notAfter });
  return holdAuthority(issuing, { kind: `${tree}-issuing`, state: root.state, rootId: root.id });
}

/**
 * The next root's certificate by this one, whose key must be at hand. Null if this root allows no chain so long: the next one, its
 * issuing CA, a leaf.
 */
export async function certifyNextRoot(root: HeldAuthority, nextPem: string, now: Date): Promise<string | null> {
  if (readCaCertificate(root.certificatePem).pathLength < 2) return null;
  const notBefore = new Date(now.getTime() - SKEW_MS);
  return crossSign(withKey(root), nextPem, { notBefore, notAfter: root.notAfter });
}

/** Less than a third of its life is left, and another one would live longer. */
export function isDue({ issuing, root }: AuthorityPair, now: Date): boolean {
  const left = issuing.notAfter.getTime() - now.getTime();
  const life = issuing.notAfter.getTime() - issuing.notBefore.getTime();
  return left * 3 < life && root.notAfter > issuing.notAfter;
}

/** For signing. */
export function withKey({ certificatePem, privateKeyPem }: HeldAuthority): Authority {
  if (privateKeyPem === null) throw new Error('the key of this CA is not here');
  return { certificatePem, privateKeyPem };
}
