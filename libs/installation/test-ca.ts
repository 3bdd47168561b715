import { TrustEntry, type Enrol } from '@fairlead/contracts';
import type { FairleadError } from '@fairlead/errors';
import {
  checkCsr,
  createCsr,
  createIssuing,
  createRoot,
  crossSign,
  generatePrivateKey,
  issueIdentity,
  signTrust,
  type Authority,
  type NamedEndpoints,
  type RevokedGateways,
  type TrustSigner,
} from '@fairlead/pki';
import type { TestAuthority } from '@fairlead/testing';

/** A root with what it certified. */
interface Tree {
  readonly root: Authority;
  readonly issuing: Authority;
}

const HOUR_MS = 3_600_000;
const life = () => ({ notBefore: new Date(Date.now() - HOUR_MS), notAfter: new Date(Date.now() + 24 * HOUR_MS) });

/** The CA as `keys` has it, as far as replicas and agents see it: what signs, which roots count, and the steps of a rotation. */
export class TestCa {
  readonly #trustDomain: string;
  /** The tree of what people's tools see is another one, and stays. */
  readonly serving: Tree;
  #active: Tree;
  /** Made known, and not signing yet. */
  #next: Tree | null = null;
  /** Trusted still, and signing no more. */
  #retiring: Tree | null = null;
  /** The active root's certificate by the retiring one. */
  #cross: string[] = [];
  version = 1;
  /** What replicas said that agents hold, as it came. */
  readonly acknowledged: { readonly replica: string; readonly clusterId: string; readonly version: number }[] = [];

  /** What replicas passed on of agents that enrolled, as it came. */
  readonly enrolments: Enrol[] = [];
  /** What registration answers instead of enrolling anybody. */
  enrolmentRefusal: FairleadError | null = null;

  /** Begins with the root of this authority. */
  constructor({ trustDomain, root, issuing }: TestAuthority) {
    this.#trustDomain = trustDomain;
    this.serving = { root, issuing };
    this.#active = this.serving;
  }

  get trustDomain(): string {
    return this.#trustDomain;
  }

  get issuing(): Authority {
    return this.#active.issuing;
  }

  /** The active one first. */
  get roots(): string[] {
    return [this.#active, this.#next ?? this.#retiring].flatMap((tree) => (tree ? [tree.root.certificatePem] : []));
  }

  /** The whole chain of a leaf that was issued now. */
  chainOf(leafPem: string): string[] {
    return [leafPem, this.#active.issuing.certificatePem, ...this.#cross, this.#active.root.certificatePem];
  }

  async prepare(): Promise<void> {
    // Of the same name as the one before it: names tell roots apart no more than they do in production.
    const root = await createRoot({ commonName: 'test root', ...life() });
    this.#next = { root, issuing: await createIssuing(root, { commonName: 'test issuing', ...life() }) };
    this.version += 1;
  }

  async activate(): Promise<void> {
    if (!this.#next) throw new Error('nothing is prepared');
    this.#cross = [await crossSign(this.#active.root, this.#next.root.certificatePem, life())];
    [this.#active, this.#retiring, this.#next] = [this.#next, this.#active, null];
    this.version += 1;
  }

  retire(): void {
    this.#retiring = null;
    this.#cross = [];
    this.version += 1;
  }

  /** As it is written to the bucket, or something near it: `change` is made before it is signed. */
  async bundle(
    change: {
      version?: number;
      roots?: readonly string[];
      signer?: TrustSigner;
    } & RevokedGateways &
      NamedEndpoints = {},
  ): Promise<TrustEntry> {
    const { version = this.version, roots = this.roots, signer = await this.#signer(), ...others } = change;
    const { trustDomain } = this;
    const contents = { version, trustDomain, rootsPem: roots, ...others };
    const { bundle, signerChainPem, signature } = await signTrust(contents, signer);
    const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
    return { version, bundle: base64(bundle), signerChain: [...signerChainPem], signature: base64(signature) };
  }

  async #signer(): Promise<TrustSigner> {
    const keyPem = await generatePrivateKey();
    const csr = await checkCsr(await createCsr(keyPem));
    const id = { kind: 'service', trustDomain: this.#trustDomain, name: 'keys' } as const;
    const { certificatePem } = await issueIdentity(this.issuing, { csr, id, ...life() });
    return { keyPem, chainPem: this.chainOf(certificatePem).slice(0, -1) };
  }
}
