import {
  checkCsr,
  createCsr,
  createIssuing,
  createRoot,
  generatePrivateKey,
  issueIdentity,
  issueServing,
  spkiPin,
  type Authority,
  type CheckedCsr,
  type IssuedCertificate,
  type SpiffeId,
} from '@fairlead/pki';

export interface TestAuthorityOptions {
  /** Default `fairlead.local`. */
  readonly trustDomain?: string;
  /** Whose root and issuing CA it has too, as installations below one corporate root have; default its own. */
  readonly below?: TestAuthority;
}

export interface TestCertificateOptions {
  /** Default an hour ago. */
  readonly notBefore?: Date;
  /** Default in a day. */
  readonly notAfter?: Date;
  readonly generation?: number;
  readonly serial?: string;
}

/** A key and its certificate, ready for `tls` and `http2`: `{key: privateKeyPem, cert: chainPem}`. */
export interface TestCertificate {
  readonly privateKeyPem: string;
  readonly certificatePem: string;
  readonly serial: string;
  /** Leaf, issuing CA, root. */
  readonly chain: readonly string[];
  /** The chain as one text. */
  readonly chainPem: string;
}

/** A root and an issuing CA of their own, and certificates from them. */
export interface TestAuthority {
  readonly trustDomain: string;
  readonly root: Authority;
  readonly issuing: Authority;
  /** PEM of the root, as in a trust bundle. */
  readonly roots: readonly string[];
  /** SPKI pin of each root. */
  readonly pins: readonly string[];
  agent(clusterId: string, options?: TestCertificateOptions): Promise<TestCertificate>;
  gateway(name: string, options?: TestCertificateOptions): Promise<TestCertificate>;
  service(name: string, options?: TestCertificateOptions): Promise<TestCertificate>;
  /** A server certificate for DNS names and IP addresses. */
  serving(names: readonly string[], options?: TestCertificateOptions): Promise<TestCertificate>;
}

const HOUR_MS = 3_600_000;

/** Two calls make two authorities that do not trust each other. */
export async function testAuthority({
  trustDomain = 'fairlead.local',
  below,
}: TestAuthorityOptions = {}): Promise<TestAuthority> {
  const years = {
    notBefore: new Date(Date.now() - 24 * 365 * HOUR_MS),
    notAfter: new Date(Date.now() + 24 * 3_650 * HOUR_MS),
  };
  const root = below?.root ?? (await createRoot({ commonName: 'test root', ...years }));
  const issuing = below?.issuing ?? (await createIssuing(root, { commonName: 'test issuing', ...years }));
  const identity = (id: SpiffeId, options: TestCertificateOptions = {}): Promise<TestCertificate> =>
    certify([issuing, root], (csr) => issueIdentity(issuing, { ...options, csr, id, ...validity(options) }));
  return {
    trustDomain,
    root,
    issuing,
    roots: [root.certificatePem],
    pins: [spkiPin(root.certificatePem)],
    agent: (clusterId, options) => identity({ kind: 'agent', trustDomain, clusterId }, { generation: 1, ...options }),
    gateway: (name, options) => identity({ kind: 'gateway', trustDomain, name }, options),
    service: (name, options) => identity({ kind: 'service', trustDomain, name }, options),
    serving: (names, options = {}) =>
      certify([issuing, root], (csr) => issueServing(issuing, { csr, names, ...validity(options) })),
  };
}

function validity(options: TestCertificateOptions): { notBefore: Date; notAfter: Date } {
  return {
    notBefore: options.notBefore ?? new Date(Date.now() - HOUR_MS),
    notAfter: options.notAfter ?? new Date(Date.now() + 24 * HOUR_MS),
  };
}

async function certify(
  issuers: readonly Authority[],
  issue: (csr: CheckedCsr) => Promise<IssuedCertificate>,
): Promise<TestCertificate> {
  const privateKeyPem = await generatePrivateKey();
  const { certificatePem, serial } = await issue(await checkCsr(await createCsr(privateKeyPem)));
  const chain = [certificatePem, ...issuers.map((issuer) => issuer.certificatePem)];
  return { privateKeyPem, certificatePem, serial, chain, chainPem: chain.join('') };
}
