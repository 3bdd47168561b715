import type { EntityManager } from 'typeorm';
import type { Actor } from '@fairlead/events';
import type { RateLimitedEvents } from '@fairlead/limits';
import { changeRequest, lockPending, type StoredEnrolmentRequest } from '../store/enrolment-request-store.js';
import { tell, type Runtime } from './runtime.js';

export interface Rejection {
  readonly actor: Actor;
  /** At most 256 characters. */
  readonly why: string;
  /** How often it is told; default always. */
  readonly rate?: RateLimitedEvents | null;
}

/**
 * Rejects the agents that wait with tokens of the cluster, or with that token: their invitation is over. In a transaction of the
 * caller's that has locked the cluster, so that nobody is approved in between.
 */
export async function turnAway(
  runtime: Runtime,
  manager: EntityManager,
  invited: { readonly clusterId: string } | { readonly tokenId: string },
  rejection: Rejection,
): Promise<void> {
  for (const request of await lockPending(manager, invited)) await rejectIn(runtime, manager, request, rejection);
}

/** Rejects one, which the transaction has locked. */
export async function rejectIn(
  runtime: Runtime,
  manager: EntityManager,
  request: StoredEnrolmentRequest,
  { actor, why, rate }: Rejection,
): Promise<StoredEnrolmentRequest> {
  const change = { state: 'rejected', reason: why, decidedAt: runtime.now() } as const;
  await changeRequest(manager, request.id, change);
  const suppressed = rate ? rate.take(request.clusterId) : 0;
  if (suppressed !== null) {
    const event = { ...aboutRequest(request), actor, why, suppressed };
    await tell(runtime, manager, 'dev.fairlead.enrolment.rejected.v1', event);
  }
  return { ...request, ...change };
}

/** What every event about a request says. */
export function aboutRequest({ id, tenantId, clusterId, spkiSha256 }: StoredEnrolmentRequest) {
  return {
    tenantId,
    clusterId,
    requestId: id,
    fingerprint: spkiSha256,
    subject: `enrolment-request/${id}`,
    reason: 'OK',
  };
}
