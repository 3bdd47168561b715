import { FairleadError } from '@fairlead/errors';
import { signProof, verifyProof } from './private-key.js';
import { verifyChain } from './verify-chain.js';

/** A key of the CA's service, with its certificate. */
export interface TrustSigner {
  readonly keyPem: string;
  readonly chainPem: readonly string[];
}

/** Bytes that the keys service signed: whoever carries them can change nothing in them. */
export interface SignedStatement {
  readonly document: Uint8Array;
  /** Leaf first, without the root; the leaf is the identity `service/keys`. */
  readonly signerChainPem: readonly string[];
  /** ECDSA-SHA256 by the leaf's key over the context, a line feed and the document. */
  readonly signature: Uint8Array;
}

export interface StatementTrust {
  readonly rootsPem: readonly string[];
  readonly trustDomain: string;
  readonly at: Date;
}

const SIGNER = 'keys';

/** Signs with a key whose certificate says `service/keys`. The context keeps one kind of statement from being taken for another. */
export async function signStatement(
  context: string,
  document: Uint8Array,
  signer: TrustSigner,
): Promise<SignedStatement> {
  const signature = await signProof(signer.keyPem, signedBytes(context, document));
  return { document, signerChainPem: [...signer.chainPem], signature };
}

/** Throws CERTIFICATE_REFUSED unless the keys service signed it in this context, by a chain that ends in one of these roots. */
export async function openStatement(context: string, signed: SignedStatement, trust: StatementTrust): Promise<void> {
  const { rootsPem, trustDomain, at } = trust;
  const { id } = await verifyChain(signed.signerChainPem, rootsPem, { at, usage: 'clientAuth', trustDomain });
  if (id.kind !== 'service' || id.name !== SIGNER) throw refused(context, 'its signer is not the keys service');
  const [leaf = ''] = signed.signerChainPem;
  if (!(await verifyProof(leaf, signedBytes(context, signed.document), signed.signature))) {
    throw refused(context, 'its signature does not match');
  }
}

function signedBytes(context: string, document: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`${context}\n`), document]);
}

function refused(context: string, why: string): FairleadError {
  return new FairleadError(
    'CERTIFICATE_REFUSED',
    `the ${context.replace(/^fairlead | v\d+$/g, '')} is refused: ${why}`,
  );
}
