import { verify, type KeyObject } from 'node:crypto';
import { FairleadError } from '@fairlead/errors';
import { parseCertificate } from './pem.js';
import { signProof } from './private-key.js';
import { verifyPath } from './verify-chain.js';

/** A key of the CA's service, with its certificate. */
export interface TrustSigner {
  readonly keyPem: string;
  readonly chainPem: readonly string[];
}

/** Bytes that the keys service signed: whoever carries them can change nothing in them. */
export interface SignedStatement {
  readonly document: Uint8Array;
  /** Leaf first, without the root; the leaf is the identity of a `StatementSigner`. */
  readonly signerChainPem: readonly string[];
  /** ECDSA-SHA256 by the leaf's key over the context, a line feed and the document. */
  readonly signature: Uint8Array;
}

export interface StatementTrust {
  readonly rootsPem: readonly string[];
  readonly trustDomain: string;
  readonly at: Date;
}

/** As whom the keys service signs: each a name of its own below `service/`, so that no key of the one signs what is the other's. */
export type StatementSigner = 'keys' | 'access-statements';

/** Signs with a key whose certificate names the signer. The context keeps one kind of statement from being taken for another. */
export async function signStatement(
  context: string,
  document: Uint8Array,
  signer: TrustSigner,
): Promise<SignedStatement> {
  const signature = await signProof(signer.keyPem, signedBytes(context, document));
  return { document, signerChainPem: [...signer.chainPem], signature };
}

/** Throws CERTIFICATE_REFUSED unless the signer signed it in this context, by a chain that ends in one of these roots. */
export async function openStatement(
  context: string,
  signed: SignedStatement,
  trust: StatementTrust,
  signer: StatementSigner = 'keys',
): Promise<void> {
  const { key } = await openSigner(context, signed.signerChainPem, trust, signer);
  if (!isSignedBy(key, context, signed)) throw refused(context, 'its signature does not match');
}

/** Who may sign, and how long that counts while the same roots are trusted. */
export interface VerifiedSigner {
  readonly key: KeyObject;
  /** Milliseconds since the epoch, both included: before and after it the chain would be refused. */
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** A signer whose chain ends in one of these roots. Throws CERTIFICATE_REFUSED. */
export async function openSigner(
  context: string,
  chainPem: readonly string[],
  { rootsPem, trustDomain, at }: StatementTrust,
  signer: StatementSigner,
): Promise<VerifiedSigner> {
  const options = { at, usage: 'clientAuth', trustDomain } as const;
  const { peer, notBefore, notAfter } = await verifyPath(chainPem, rootsPem, options);
  const { id } = peer;
  if (id.kind !== 'service' || id.name !== signer) throw refused(context, `its signer is not ${NAMES[signer]}`);
  const [leaf = ''] = chainPem;
  return {
    key: parseCertificate(leaf).publicKey,
    notBeforeMs: notBefore.getTime(),
    notAfterMs: notAfter.getTime(),
  };
}

/** Whether this key signed this document in this context. A malformed signature is just false. */
export function isSignedBy(
  key: KeyObject,
  context: string,
  { document, signature }: Pick<SignedStatement, 'document' | 'signature'>,
): boolean {
  return verify('sha256', signedBytes(context, document), key, signature);
}

const NAMES: Readonly<Record<StatementSigner, string>> = {
  keys: 'the keys service',
  'access-statements': 'the signer of access statements',
};

function signedBytes(context: string, document: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`${context}\n`), document]);
}

function refused(context: string, why: string): FairleadError {
  return new FairleadError(
    'CERTIFICATE_REFUSED',
    `the ${context.replace(/^fairlead | v\d+$/g, '')} is refused: ${why}`,
  );
}
