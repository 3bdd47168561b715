import { hash, randomBytes } from 'node:crypto';
import { sameHash, type Hash } from './merkle/hashes.js';

/** Kept beside the body and erased with it. */
export const NONCE_BYTES = 32;

export function newNonce(): Uint8Array {
  return randomBytes(NONCE_BYTES);
}

/**
 * What an entry holds in place of a body that may have to be erased: SHA-256 over nonce and body. With both, anybody can see that the body
 * is the one that was logged; without the nonce, which nobody can guess, no body can be tried, however few there are to choose from.
 */
export function commitToBody(nonce: Uint8Array, body: Uint8Array): Hash {
  if (nonce.length !== NONCE_BYTES) throw new RangeError(`a nonce has ${NONCE_BYTES} bytes, and not ${nonce.length}`);
  return hash('sha256', Buffer.concat([nonce, body]), 'buffer');
}

export function isCommittedBody(commitment: Hash, nonce: Uint8Array, body: Uint8Array): boolean {
  return nonce.length === NONCE_BYTES && sameHash(commitment, commitToBody(nonce, body));
}
