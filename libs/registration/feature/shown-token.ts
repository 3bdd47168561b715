import { enrolmentProofKey, verifyEnrolmentProof } from '@fairlead/pki';
import { hashSecret, newSecret, sameHash } from '../domain/secret-hash.js';
import type { StoredBootstrapToken } from '../store/token-store.js';
import type { EnrolInput } from './enrolment-refusals.js';

/** So that an unknown id takes as long to refuse as a wrong secret or proof. */
const NOBODYS_HASH = hashSecret('');
const NOBODYS_KEY = enrolmentProofKey({ id: 'nobody', secret: newSecret() });

/** Does whoever asks have the secret of this token? Takes as long for one that is not there. */
export function showsToken(input: EnrolInput, token: StoredBootstrapToken | null): token is StoredBootstrapToken {
  const shown = input.proof === undefined ? hasSecret(input, token) : hasProof(input, input.proof, token);
  return token !== null && shown;
}

function hasSecret({ secret = '' }: EnrolInput, token: StoredBootstrapToken | null): boolean {
  return sameHash(hashSecret(Buffer.from(secret, 'base64')), token?.secretHash ?? NOBODYS_HASH);
}

/** A proof is for one request: whoever carries it can ask for no other key with it. */
function hasProof({ tokenId, csr }: EnrolInput, proof: string, token: StoredBootstrapToken | null): boolean {
  const [csrDer, signature] = [Buffer.from(csr, 'base64'), Buffer.from(proof, 'base64')];
  return verifyEnrolmentProof(token?.proofKey ?? NOBODYS_KEY, tokenId ?? '', csrDer, signature);
}
