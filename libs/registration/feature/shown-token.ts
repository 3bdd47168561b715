import { FairleadError } from '@fairlead/errors';
import { enrolmentProofKey, verifyEnrolmentProof } from '@fairlead/pki';
import type { EntityManager } from 'typeorm';
import { refuseToken } from '../domain/decide-enrolment.js';
import { hashSecret, newSecret, sameHash } from '../domain/secret-hash.js';
import type { StoredEnrolmentRequest } from '../store/enrolment-request-store.js';
import { findBootstrapToken, lockBootstrapToken, presented, type StoredBootstrapToken } from '../store/token-store.js';
import type { EnrolInput } from './enrolment-refusals.js';
import { read, type Runtime } from './runtime.js';

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

/** TOKEN_REVOKED, TOKEN_EXPIRED: the token that it asked with is not good any more. An approval outlives the token's time. */
export async function requireToken(
  runtime: Runtime,
  { tokenId, spkiSha256, state }: StoredEnrolmentRequest,
): Promise<void> {
  if (tokenId === null) return;
  const token = await read(runtime, (manager) => findBootstrapToken(manager, tokenId));
  const refused = token && refuseToken(presented(token), spkiSha256, runtime.now());
  if (!refused || (refused.code === 'TOKEN_EXPIRED' && state === 'approved')) return;
  throw new FairleadError(refused.code, refused.reason);
}

/** The same for who is about to be approved, in a transaction of the caller's: nobody revokes it in between. CONFLICT. */
export async function lockToken(
  runtime: Runtime,
  manager: EntityManager,
  { tokenId, spkiSha256 }: StoredEnrolmentRequest,
): Promise<void> {
  const token = tokenId === null ? null : await lockBootstrapToken(manager, tokenId);
  const refused = token && refuseToken(presented(token), spkiSha256, runtime.now());
  if (refused) throw new FairleadError('CONFLICT', `this agent cannot be approved any more: ${refused.reason}`);
}
