import { z } from 'zod';
import { ClusterName, Generation, IsoTime, TenantId } from './primitives.js';

/** A bootstrap token as it may be shown: never its secret, of which only a hash exists. */
export const BootstrapToken = z.object({
  id: z.string().max(64),
  tenantId: TenantId,
  cluster: ClusterName,
  /** Revoked counts before used, and used before expired. */
  state: z.enum(['unused', 'used', 'expired', 'revoked']),
  createdAt: IsoTime,
  expiresAt: IsoTime,
  revokedAt: IsoTime.nullable(),
  /** SHA-256 of the public key that spent it, hex, and the enrolment that this made; null while nobody did, or its key waits for an approval. */
  usedBy: z.object({ fingerprint: z.string().length(64), generation: Generation }).nullable(),
});
export type BootstrapToken = z.infer<typeof BootstrapToken>;
