import {
  TOKEN_USER_PREFIX,
  WORKLOAD_USER_PREFIX,
  type AccessRequest,
  type Grant,
  type Subject,
} from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';

/** How long a request waits for somebody who decides. */
export const PENDING_MS = 24 * 3_600_000;
/** Of one user, waiting at once. */
export const MAX_PENDING = 16;

/** By the clock: nobody has to have written down that a request lapsed. An approved one ends with its grant. */
export function stateOf(request: AccessRequest, now: Date): AccessRequest['state'] {
  const endMs = endOf(request);
  return endMs !== null && endMs <= now.getTime() ? 'lapsed' : request.state;
}

function endOf({ state, createdAt, decidedAt, seconds }: AccessRequest): number | null {
  if (state === 'pending') return Date.parse(createdAt) + PENDING_MS;
  return state === 'approved' && decidedAt !== null ? Date.parse(decidedAt) + seconds * 1_000 : null;
}

export interface Decision {
  readonly by: string;
  readonly approve: boolean;
  /** Of the grant, if there is to be one. */
  readonly grantId: string;
}

/** The request after the decision, and the grant that comes of it. FORBIDDEN for who asked; CONFLICT unless it waits for a decision. */
export function decideRequest(
  request: AccessRequest,
  { by, approve, grantId }: Decision,
  now: Date,
): { request: AccessRequest; grant: Grant | null } {
  if (by === request.user) throw new FairleadError('FORBIDDEN', 'somebody else has to decide about your request');
  const state = stateOf(request, now);
  if (state !== 'pending') throw new FairleadError('CONFLICT', `the request is ${state} already`);
  const decided = { ...request, decidedBy: by, decidedAt: now.toISOString() };
  if (!approve) return { request: { ...decided, state: 'rejected' }, grant: null };
  return { request: { ...decided, state: 'approved', grantId }, grant: grantFor(request, { by, grantId }, now) };
}

function grantFor(request: AccessRequest, { by, grantId }: Omit<Decision, 'approve'>, now: Date): Grant {
  const { id: requestId, tenantId, user, clusters, role, narrowing, seconds, reason } = request;
  return {
    id: grantId,
    tenantId,
    subject: subjectOfUser(user),
    effect: 'allow',
    clusters,
    role,
    groups: [],
    narrowing,
    notBefore: null,
    expiresAt: new Date(now.getTime() + seconds * 1_000).toISOString(),
    reason,
    createdBy: by,
    createdAt: now.toISOString(),
    requestId,
  };
}

/** To whom something is granted that somebody of this user name asks for. */
export function subjectOfUser(user: string): Subject {
  if (user.startsWith(TOKEN_USER_PREFIX)) return { kind: 'token', name: user.slice(TOKEN_USER_PREFIX.length) };
  if (user.startsWith(WORKLOAD_USER_PREFIX)) return { kind: 'workload', name: user.slice(WORKLOAD_USER_PREFIX.length) };
  return { kind: 'user', name: user };
}
