import { NO_TENANT, type Caller, type Facts } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import type { EventInput } from '@fairlead/events';
import { ADOPTION } from '../domain/adoption-queue.js';
import type { StoredBootstrapToken } from '../store/token-store.js';
import type { LinkProblems } from './link-problems.js';

export interface EnrolInput {
  /** Null: it has none. */
  readonly tokenId: string | null;
  /** Base64; this or the proof. */
  readonly secret?: string | undefined;
  /** Ed25519 signature, base64. */
  readonly proof?: string | undefined;
  /** PKCS#10, base64. */
  readonly csr: string;
  readonly facts: Facts;
  readonly remoteAddress: string;
}

export function rejected(): FairleadError {
  return new FairleadError('ENROLMENT_REJECTED', 'the approval policy here rejects every enrolment');
}

export function unknownToken(): FairleadError {
  return new FairleadError('TOKEN_UNKNOWN', 'the bootstrap token is not known; fetch a new import manifest');
}

/** Whose token was shown, by somebody who has all of it; null if nobody has proved to. */
export function provenCluster(token: StoredBootstrapToken | null, { code }: FairleadError): string | null {
  // A CSR is looked at before the token's secret is.
  return !token || code === 'TOKEN_UNKNOWN' || code === 'CSR_INVALID' ? null : token.clusterId;
}

/** Not for who has no right to speak of the cluster: its token has to be the right one. What merely failed is no refusal. */
export async function rememberRefused(
  linkProblems: LinkProblems,
  { remoteAddress: address }: EnrolInput,
  token: StoredBootstrapToken | null,
  refused: FairleadError,
): Promise<void> {
  const clusterId = provenCluster(token, refused);
  if (clusterId === null || refused.kind.http >= 500) return;
  await linkProblems.refused(clusterId, { code: refused.code, reason: refused.message, address });
}

/** What an event about a refusal says. */
export function refusal(
  caller: Caller,
  { tokenId, remoteAddress }: EnrolInput,
  token: StoredBootstrapToken | null,
  error: FairleadError,
): EventInput<'dev.fairlead.enrolment.refused.v1'> {
  return {
    tenantId: token?.tenantId ?? NO_TENANT,
    clusterId: token?.clusterId ?? null,
    tokenId: tokenId ?? ADOPTION,
    subject: tokenId === null ? 'enrolment-request/unknown' : `token/${tokenId}`,
    // Nobody has proven to be anybody yet; the gateway that carried it is all that is known.
    actor: { kind: 'unknown', id: caller.credential, address: remoteAddress },
    reason: error.code,
  };
}
