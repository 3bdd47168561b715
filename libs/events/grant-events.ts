import { AccessRequest, ClusterId, Grant, Lockdown } from '@fairlead/contracts';
import { z } from 'zod';
import { event } from './event-shape.js';

const { id: grantId, subject: grantee, effect, clusters, role, groups, narrowing, impersonate, targets } = Grant.shape;
const grant = { grantId, grantee, effect, clusters, role, groups, requestId: Grant.shape.requestId };
const asked = AccessRequest.pick({ user: true, clusters: true, role: true, narrowing: true, seconds: true });
const request = { requestId: z.uuid(), ...asked.shape };
const lockdown = { clusterId: ClusterId.nullable(), cluster: Lockdown.shape.cluster };
const why = z.string().max(512);

/** Of who may do what: `why` is what whoever did it says. */
export const GRANT_EVENTS = {
  'dev.fairlead.grant.created.v1': event({
    ...grant,
    narrowing,
    impersonate,
    targets,
    notBefore: Grant.shape.notBefore,
    expiresAt: Grant.shape.expiresAt,
    why,
  }),
  /** Somebody ended it. */
  'dev.fairlead.grant.deleted.v1': event(grant),
  /** Its time was over. */
  'dev.fairlead.grant.lapsed.v1': event(grant),
  'dev.fairlead.access-request.created.v1': event({ ...request, why }),
  /** A grant was made of it. */
  'dev.fairlead.access-request.approved.v1': event({ ...request, grantId }),
  'dev.fairlead.access-request.rejected.v1': event(request),
  /** Nobody decided in time. */
  'dev.fairlead.access-request.lapsed.v1': event(request),
  /** Nobody but the administrator gets through doors; null: to no cluster of the tenant. */
  'dev.fairlead.lockdown.begun.v1': event({ ...lockdown, why }),
  'dev.fairlead.lockdown.lifted.v1': event(lockdown),
} as const;
