import { AccessRule } from '@fairlead/access-rules';
import { z } from 'zod';
import { ClusterScope, Subject } from './access.js';
import { ClusterId, IsoTime, TenantId } from './primitives.js';

/** One grant, as far as doors decide by it. */
export const GrantEntry = z.object({
  rule: AccessRule,
  /** To a client: what it may ask for. */
  targets: z.array(z.string().max(300)).max(64).optional(),
  clusters: ClusterScope,
  notBefore: IsoTime.nullable(),
  expiresAt: IsoTime.nullable(),
});
export type GrantEntry = z.infer<typeof GrantEntry>;

/** `<tenant>.subject.<hash of the subject>`: all that is granted to one subject. */
const SubjectGrants = z.object({
  kind: z.literal('subject'),
  tenantId: TenantId,
  subject: Subject,
  grants: z.array(GrantEntry).max(256),
});
/** `<tenant>.lockdown.<cluster id, or all>`. */
const LockdownEntry = z.object({
  kind: z.literal('lockdown'),
  tenantId: TenantId,
  /** Null: every cluster of the tenant. */
  clusterId: ClusterId.nullable(),
  reason: z.string().max(512),
});
/** What is in the bucket `grants`. */
export const GrantsEntry = z.discriminatedUnion('kind', [SubjectGrants, LockdownEntry]);
export type GrantsEntry = z.infer<typeof GrantsEntry>;
