import type { Issued, SignedTrust } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import {
  checkCsr,
  createCsr,
  generatePrivateKey,
  issueIdentity,
  issueServing,
  secondOf,
  signTrust,
  verifyChain,
  type CheckedCsr,
  type NamedEndpoints,
  type PeerCertificate,
  type RevokedGateways,
  type SpiffeId,
  type StatementSigner,
  type TrustSigner,
} from '@fairlead/pki';
import {
  SKEW_MS,
  withKey,
  type AuthorityKind,
  type AuthorityPair,
  type AuthorityState,
  type HeldAuthority,
  type Tree,
} from './authority.js';

/** A certificate and what is to be remembered of it. */
export interface IssuedLeaf {
  readonly issued: Omit<Issued, 'trustVersion'>;
  /** The issuing CA. */
  readonly authorityId: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** A key that nobody keeps, with its certificate, which ends at `notAfter`. */
export interface OneTimeSigner extends TrustSigner {
  readonly notAfter: Date;
}

/**
 * Signs with the CAs as they are at one moment; knows nothing of who may ask. Two trees that share nothing: identities (agents, gateways,
 * clients) and what people's tools see, so that rotating the first breaks no kubeconfig.
 */
export class CertificateAuthority {
  readonly trustDomain: string;
  readonly members: readonly HeldAuthority[];
  readonly #leafLifeMs: number;

  /** `members`: all that are not retired. */
  constructor(members: readonly HeldAuthority[], trustDomain: string, leafLifeSeconds: number) {
    this.members = members;
    this.trustDomain = trustDomain;
    this.#leafLifeMs = leafLifeSeconds * 1_000;
  }

  /** PEM: the active one first, then the one that comes or the one that goes. */
  roots(tree: Tree = 'identity'): string[] {
    const states: AuthorityState[] = ['active', 'next', 'retiring'];
    const found = states.map((state) => this.find(`${tree}-root`, state));
    return found.flatMap((root) => (root ? [root.certificatePem] : []));
  }

  find(kind: AuthorityKind, state: AuthorityState): HeldAuthority | undefined {
    return this.members.find((member) => member.kind === kind && member.state === state);
  }

  /** A tree's root and issuing CA of one state. INTERNAL if the database has none. */
  pair(tree: Tree, state: AuthorityState = 'active'): AuthorityPair {
    const [root, issuing] = [this.find(`${tree}-root`, state), this.find(`${tree}-issuing`, state)];
    if (root && issuing) return { root, issuing };
    throw new FairleadError('INTERNAL', `the database has no ${state} CA of the ${tree} tree`);
  }

  /** UNAVAILABLE when the issuing CA has ended. `after`: the certificate is valid from a later second on, whatever the clock says. */
  async issueIdentity(
    csr: CheckedCsr,
    id: SpiffeId,
    now: Date,
    options: { readonly generation?: number; readonly trustVersion?: number; readonly after?: Date | null } = {},
  ): Promise<IssuedLeaf> {
    const { after, ...agent } = options;
    const { issuing } = this.#usable('identity', now);
    const validity = this.#validity(issuing.notAfter, now, after ?? null);
    return this.#leaf('identity', await issueIdentity(withKey(issuing), { csr, id, ...validity, ...agent }), validity);
  }

  /** UNAVAILABLE when the issuing CA has ended. */
  async issueServing(csr: CheckedCsr, names: readonly string[], now: Date): Promise<IssuedLeaf> {
    const { issuing } = this.#usable('serving', now);
    const validity = this.#validity(issuing.notAfter, now);
    return this.#leaf('serving', await issueServing(withKey(issuing), { csr, names, ...validity }), validity);
  }

  /** Who a chain of ours speaks for, at a time. Throws CERTIFICATE_REFUSED. */
  verify(chain: readonly string[], at: Date): Promise<PeerCertificate> {
    return verifyChain(chain, this.roots(), { at, usage: 'clientAuth', trustDomain: this.trustDomain });
  }

  /**
   * The roots as a signed bundle. Its signer's certificate lives as long as the CA that issued it, and it is in no list of certificates
   * but in the bundle itself.
   */
  async signBundle(version: number, told: RevokedGateways & NamedEndpoints, now: Date): Promise<SignedTrust> {
    const contents = { version, trustDomain: this.trustDomain, rootsPem: this.roots(), ...told };
    const { bundle, signature, signerChainPem } = await signTrust(contents, await this.oneTimeSigner(now));
    return {
      bundle: Buffer.from(bundle).toString('base64'),
      signerChain: [...signerChainPem],
      signature: Buffer.from(signature).toString('base64'),
    };
  }

  /**
   * A key to sign one kind of thing with, certified for that for so long, or as long as the CA that issued it lives. While another root is
   * still trusted, whoever knows only that one can follow the chain. UNAVAILABLE when the issuing CA has ended.
   */
  async oneTimeSigner(
    now: Date,
    { lifeMs = Infinity, as = 'keys' }: { readonly lifeMs?: number; readonly as?: StatementSigner } = {},
  ): Promise<OneTimeSigner> {
    const { issuing } = this.#signerPair(now);
    const keyPem = await generatePrivateKey();
    const csr = await checkCsr(await createCsr(keyPem));
    const id: SpiffeId = { kind: 'service', trustDomain: this.trustDomain, name: as };
    const notAfter = new Date(Math.min(now.getTime() + lifeMs, issuing.notAfter.getTime()));
    const validity = { notBefore: new Date(now.getTime() - SKEW_MS), notAfter };
    const { certificatePem } = await issueIdentity(withKey(issuing), { csr, id, ...validity });
    return { keyPem, chainPem: [certificatePem, ...this.signerIssuers(now)], notAfter };
  }

  /** What is above the certificate of a signer that is made now: others, once another CA signs or another root is trusted. UNAVAILABLE as `oneTimeSigner`. */
  signerIssuers(now: Date): readonly string[] {
    return [this.#signerPair(now).issuing.certificatePem, ...this.#crossOf('identity')];
  }

  /** An installation whose root has ended is brought back by the next one; nobody believes the old one any more. */
  #signerPair(now: Date): AuthorityPair {
    const next = this.find('identity-issuing', 'next');
    return next && !isUsable(this.pair('identity').issuing, now)
      ? this.pair('identity', 'next')
      : this.#usable('identity', now);
  }

  #usable(tree: Tree, now: Date): AuthorityPair {
    const pair = this.pair(tree);
    const { issuing, root } = pair;
    if (isUsable(issuing, now)) return pair;
    const what = `the issuing CA of the ${tree} tree ended on ${issuing.notAfter.toISOString()}`;
    const next =
      root.privateKeyPem === null
        ? 'its root is offline: run `fairlead-keys issuing-csr`, have the root sign it, and run `fairlead-keys import-ca`'
        : 'its root has ended as well: rotate the root (`fairlead ca prepare`), and import clusters again';
    throw new FairleadError('UNAVAILABLE', `nothing is signed: ${what}; ${next}`);
  }

  /** No certificate outlives its issuer. */
  #validity(issuerEnd: Date, now: Date, after: Date | null = null): { notBefore: Date; notAfter: Date } {
    const end = Math.min(now.getTime() + this.#leafLifeMs, issuerEnd.getTime());
    // Counted from notBefore, two thirds of a short life would be over when it begins.
    const skewMs = Math.min(SKEW_MS, this.#leafLifeMs / 12);
    const earliestMs = after === null ? 0 : (secondOf(after) + 1) * 1_000;
    return { notBefore: new Date(Math.max(now.getTime() - skewMs, earliestMs)), notAfter: new Date(end) };
  }

  #leaf(
    tree: Tree,
    leaf: { certificatePem: string; serial: string },
    validity: { notBefore: Date; notAfter: Date },
  ): IssuedLeaf {
    const { root, issuing } = this.pair(tree);
    const chain = [leaf.certificatePem, issuing.certificatePem, ...this.#crossOf(tree), root.certificatePem];
    const issued = { chain, roots: this.roots(tree), serial: leaf.serial, notAfter: validity.notAfter.toISOString() };
    return { issued, authorityId: issuing.id, ...validity };
  }

  /** While the root before this one is trusted, whoever trusts only that one is shown the way. */
  #crossOf(tree: Tree): string[] {
    const cross = this.find(`${tree}-root`, 'retiring') ? this.pair(tree).root.crossPem : null;
    return cross === null ? [] : [cross];
  }
}

function isUsable({ notAfter, privateKeyPem }: HeldAuthority, now: Date): boolean {
  return now < notAfter && privateKeyPem !== null;
}
