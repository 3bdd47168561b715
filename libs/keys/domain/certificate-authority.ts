import type { Issued, TrustBundle } from '@fairlead/contracts';
import {
  createIssuing,
  createRoot,
  issueIdentity,
  issueServing,
  spkiPin,
  verifyChain,
  type Authority,
  type CheckedCsr,
  type PeerCertificate,
  type SpiffeId,
} from '@fairlead/pki';

const DAY_MS = 86_400_000;
const ROOT_LIFE_MS = 10 * 365 * DAY_MS;
const ISSUING_LIFE_MS = 2 * 365 * DAY_MS;
/** Clocks of agents may be behind ours by this much; by a twelfth of its life for a certificate that lives less than an hour. */
const SKEW_MS = 5 * 60_000;

export const AUTHORITY_KINDS = ['identity-root', 'identity-issuing', 'serving-root', 'serving-issuing'] as const;
export type AuthorityKind = (typeof AUTHORITY_KINDS)[number];
export type Authorities = Readonly<Record<AuthorityKind, Authority & { readonly notAfter: Date }>>;

/** A certificate and what is to be remembered of it. */
export interface IssuedLeaf {
  readonly issued: Issued;
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/**
 * Two trees that share nothing: identities (agents, gateways) and what people's tools see, so that rotating the first
 * breaks no kubeconfig.
 */
export async function createAuthorities(now: Date): Promise<Authorities> {
  const notBefore = new Date(now.getTime() - SKEW_MS);
  const rootEnd = new Date(now.getTime() + ROOT_LIFE_MS);
  const issuingEnd = new Date(now.getTime() + ISSUING_LIFE_MS);
  const tree = async (name: string): Promise<[Authority, Authority]> => {
    const root = await createRoot({ commonName: `Fairlead ${name} root`, notBefore, notAfter: rootEnd });
    return [
      root,
      await createIssuing(root, { commonName: `Fairlead ${name} issuing`, notBefore, notAfter: issuingEnd }),
    ];
  };
  const [[identityRoot, identityIssuing], [servingRoot, servingIssuing]] = await Promise.all([
    tree('identity'),
    tree('serving'),
  ]);
  return {
    'identity-root': { ...identityRoot, notAfter: rootEnd },
    'identity-issuing': { ...identityIssuing, notAfter: issuingEnd },
    'serving-root': { ...servingRoot, notAfter: rootEnd },
    'serving-issuing': { ...servingIssuing, notAfter: issuingEnd },
  };
}

/** Signs; knows nothing of who may ask. */
export class CertificateAuthority {
  readonly trustDomain: string;
  readonly #authorities: Authorities;
  readonly #leafLifeMs: number;

  constructor(authorities: Authorities, trustDomain: string, leafLifeSeconds: number) {
    this.#authorities = authorities;
    this.trustDomain = trustDomain;
    this.#leafLifeMs = leafLifeSeconds * 1_000;
  }

  trustBundle(): TrustBundle {
    const root = this.#authorities['identity-root'].certificatePem;
    return {
      trustDomain: this.trustDomain,
      roots: [root],
      pins: [spkiPin(root)],
      servingRoot: this.#authorities['serving-root'].certificatePem,
    };
  }

  async issueIdentity(csr: CheckedCsr, id: SpiffeId, now: Date, generation?: number): Promise<IssuedLeaf> {
    const issuer = this.#authorities['identity-issuing'];
    const validity = this.#validity(issuer.notAfter, now);
    const options = { csr, id, ...validity, ...(generation === undefined ? {} : { generation }) };
    return this.#leaf('identity', await issueIdentity(issuer, options), validity);
  }

  async issueServing(csr: CheckedCsr, names: readonly string[], now: Date): Promise<IssuedLeaf> {
    const issuer = this.#authorities['serving-issuing'];
    const validity = this.#validity(issuer.notAfter, now);
    return this.#leaf('serving', await issueServing(issuer, { csr, names, ...validity }), validity);
  }

  /** Who a chain of ours speaks for, at a time. Throws CERTIFICATE_REFUSED. */
  verify(chain: readonly string[], at: Date): Promise<PeerCertificate> {
    const roots = [this.#authorities['identity-root'].certificatePem];
    return verifyChain(chain, roots, { at, usage: 'clientAuth', trustDomain: this.trustDomain });
  }

  /** No certificate outlives its issuer. */
  #validity(issuerEnd: Date, now: Date): { notBefore: Date; notAfter: Date } {
    const end = Math.min(now.getTime() + this.#leafLifeMs, issuerEnd.getTime());
    // Counted from notBefore, two thirds of a short life would be over when it begins.
    const skewMs = Math.min(SKEW_MS, this.#leafLifeMs / 12);
    return { notBefore: new Date(now.getTime() - skewMs), notAfter: new Date(end) };
  }

  #leaf(
    tree: 'identity' | 'serving',
    leaf: { certificatePem: string; serial: string },
    validity: { notBefore: Date; notAfter: Date },
  ): IssuedLeaf {
    const root = this.#authorities[`${tree}-root`].certificatePem;
    const chain = [leaf.certificatePem, this.#authorities[`${tree}-issuing`].certificatePem, root];
    const issued = { chain, roots: [root], serial: leaf.serial, notAfter: validity.notAfter.toISOString() };
    return { issued, ...validity };
  }
}
