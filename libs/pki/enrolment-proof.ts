import { createPrivateKey, createPublicKey, hkdfSync, sign, verify, type KeyObject } from 'node:crypto';
import type { BootstrapToken } from './bootstrap-token.js';

/** Bytes of an Ed25519 signature. */
export const ENROLMENT_PROOF_BYTES = 64;

type Invited = Pick<BootstrapToken, 'id' | 'secret'>;

const CONTEXT = 'fairlead enrolment proof v1';
const SEED_BYTES = 32;
/** Ids of registrations that know no proofs are UUIDs: none begins with this letter. */
const MARK = 'p-';
/** PKCS#8 of an Ed25519 key up to its seed (RFC 8410, section 7). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');

/** A fresh id that says: the registration which minted this token takes a proof in the place of its secret. */
export function newProvableTokenId(): string {
  return `${MARK}${crypto.randomUUID()}`;
}

/** Does the registration that minted a token of this id take a proof? An agent then never sends the secret. */
export function takesProof(tokenId: string): boolean {
  return tokenId.startsWith(MARK);
}

/** What is stored to verify proofs with: SubjectPublicKeyInfo, DER, base64. Nobody can make a proof of it. */
export function enrolmentProofKey(token: Invited): string {
  return createPublicKey(privateKeyOf(token)).export({ type: 'spki', format: 'der' }).toString('base64');
}

/** Shows that whoever has the token's secret asks for this certificate request (PKCS#10, DER), and for no other. */
export function proveEnrolment(token: Invited, csrDer: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(sign(null, signedBytes(token.id, csrDer), privateKeyOf(token)));
}

/** Is it the proof for these very bytes, by this key? A malformed proof is just false; a key that cannot be read throws. */
export function verifyEnrolmentProof(
  proofKey: string,
  tokenId: string,
  csrDer: Uint8Array,
  proof: Uint8Array,
): boolean {
  const key = createPublicKey({ key: Buffer.from(proofKey, 'base64'), type: 'spki', format: 'der' });
  return verify(null, signedBytes(tokenId, csrDer), key, proof);
}

/** Ed25519, of the seed HKDF-SHA256(secret, no salt, context LF id). */
function privateKeyOf({ id, secret }: Invited): KeyObject {
  const seed = hkdfSync('sha256', secret, new Uint8Array(), `${CONTEXT}\n${id}`, SEED_BYTES);
  const key = Buffer.concat([PKCS8_HEAD, new Uint8Array(seed)]);
  return createPrivateKey({ key, type: 'pkcs8', format: 'der' });
}

/** An id holds no line feed, so that no other id and request make the same bytes. */
function signedBytes(tokenId: string, csrDer: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`${CONTEXT}\n${tokenId}\n`), csrDer]);
}
