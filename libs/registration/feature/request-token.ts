import { FairleadError } from '@fairlead/errors';
import type { EntityManager } from 'typeorm';
import { refuseToken } from '../domain/decide-enrolment.js';
import type { StoredEnrolmentRequest } from '../store/enrolment-request-store.js';
import { findBootstrapToken, lockBootstrapToken, presented } from '../store/token-store.js';
import { read, type Runtime } from './runtime.js';

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
