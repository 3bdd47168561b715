import { hashSecret, sameHash } from '../domain/secret-hash.js';
import type { StoredBootstrapToken } from '../store/token-store.js';
import type { EnrolInput } from './enrolment-refusals.js';

/** So that an unknown id takes as long to refuse as a wrong secret. */
const NOBODYS_HASH = hashSecret('');

/** Does whoever asks have the secret of this token? Takes as long for one that is not there. */
export function showsToken({ secret }: EnrolInput, token: StoredBootstrapToken | null): token is StoredBootstrapToken {
  const matches = sameHash(hashSecret(Buffer.from(secret, 'base64')), token?.secretHash ?? NOBODYS_HASH);
  return token !== null && matches;
}
