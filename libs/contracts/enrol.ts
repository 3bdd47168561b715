import { z } from 'zod';
import { Facts } from './facts.js';
import {
  Base64,
  ClusterId,
  ClusterName,
  Generation,
  IsoTime,
  Manifest,
  PemChain,
  TenantId,
  UserName,
} from './primitives.js';

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

/** Base64 of 64 bytes, which is more than a secret has. */
const SHORT = 88;

/** What a gateway passes on of an agent that asks for an identity. */
export const Enrol = z
  .object({
    /** Null: it has no token, and asks to be adopted. */
    tokenId: z
      .string()
      .regex(/^[A-Za-z0-9-]{1,64}$/, 'expected the id of a token')
      .nullable(),
    /** The token's, from an agent that makes no proof; empty without a token. */
    secret: z.base64().max(SHORT).optional(),
    /** In its place: a signature over the request by a key that only who has the secret can derive. */
    proof: z.base64().length(SHORT).optional(),
    /** PKCS#10. */
    csr: Base64,
    facts: Facts,
    remoteAddress: z.string().max(64),
  })
  .refine(({ secret, proof }) => (secret === undefined) !== (proof === undefined), 'give a secret or a proof, not both')
  .refine(({ tokenId, proof }) => tokenId !== null || proof === undefined, 'without a token there is nothing to prove');
export type Enrol = z.infer<typeof Enrol>;

/** A request of an administrator for an identity; the key stays where it was made. */
export const NewIdentity = z.object({ name: ClusterName, csr: Base64, by: UserName });

/** What goes with that key. */
export const IssuedIdentity = z.object({
  cluster: ClusterName,
  clusterId: ClusterId,
  generation: Generation,
  trustDomain: z.string().max(255),
  /** `host:port` that the agent dials. */
  endpoints: z.array(z.string().max(255)).max(64),
  /** Leaf first, the issuing CA next, the root last. */
  chain: PemChain,
  /** Roots to trust, current and next. */
  roots: PemChain,
  notAfter: IsoTime,
  /** What is applied in the cluster beside a Secret that holds the identity. No secret. */
  manifest: Manifest,
});
export type IssuedIdentity = z.infer<typeof IssuedIdentity>;
