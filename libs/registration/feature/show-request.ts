import type { EnrolmentRequest } from '@fairlead/contracts';
import { knownFacts } from '../domain/known-facts.js';
import type { StoredEnrolmentRequest } from '../store/enrolment-request-store.js';

/** As it is shown to an administrator; `cluster` is a name. */
export function showRequest(request: StoredEnrolmentRequest, cluster: string | null): EnrolmentRequest {
  const { id, tenantId, state, spkiSha256, facts, remoteAddress, reason } = request;
  return {
    id,
    tenantId,
    state,
    fingerprint: spkiSha256,
    cluster,
    facts: knownFacts(facts),
    remoteAddress,
    createdAt: request.createdAt.toISOString(),
    lastAskedAt: request.lastAskedAt.toISOString(),
    expiresAt: request.expiresAt.toISOString(),
    decidedAt: request.decidedAt?.toISOString() ?? null,
    reason,
  };
}
