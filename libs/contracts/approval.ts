import { z } from 'zod';
import { Facts } from './facts.js';
import { ClusterName, IsoTime, TenantId } from './primitives.js';

/**
 * Who decides whether an agent gets an identity. `token`: whoever has a bootstrap token. `queue`: an administrator, each
 * time. `webhook`: a program of the operator's, and an administrator as long as that gives no answer. `insecure-always-approve`: nobody; only where the configuration allows it by a flag of its own.
 */
export const ApprovalPolicy = z.enum(['always-reject', 'queue', 'webhook', 'token', 'insecure-always-approve']);
export type ApprovalPolicy = z.infer<typeof ApprovalPolicy>;

/** What an agent's fingerprint begins with. */
export const FingerprintStart = z
  .string()
  .regex(/^[0-9a-f]{8,64}$/, 'expected 8 to 64 digits of a fingerprint, in lower-case hexadecimal');

/** An agent that waits for a decision, or had one. */
export const EnrolmentRequest = z.object({
  id: z.uuid(),
  tenantId: TenantId,
  state: z.enum(['pending', 'approved', 'rejected']),
  /** SHA-256 of the agent's public key, hex: the agent shows the same in its log. */
  fingerprint: z.string().length(64),
  /** Whose token it showed, or what it was approved as; null: nobody's yet. */
  cluster: ClusterName.nullable(),
  facts: Facts,
  remoteAddress: z.string().max(64),
  createdAt: IsoTime,
  lastAskedAt: IsoTime,
  expiresAt: IsoTime,
  decidedAt: IsoTime.nullable(),
  /** What was said when it was rejected. */
  reason: z.string().max(256).nullable(),
});
export type EnrolmentRequest = z.infer<typeof EnrolmentRequest>;
