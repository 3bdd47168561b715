import { z } from 'zod';
import { LinkEndpoint } from './endpoints.js';
import { Base64, ClusterId, CredentialName, IsoTime, Pem, PemChain, TenantId } from './primitives.js';

/** See `SignedTrust` of @fairlead/pki: JSON of the roots, the chain of its signer without the root, ECDSA-SHA256. */
export const SignedTrust = z.object({
  bundle: z.base64().max(65_536),
  signerChain: PemChain,
  signature: Base64,
});
export type SignedTrust = z.infer<typeof SignedTrust>;

const TrustVersion = z.int().min(0).max(0xff_ff_ff_ff);

export const TrustBundle = z.object({
  version: TrustVersion,
  trustDomain: z.string().max(255),
  /** Roots of agents, gateways and services: the active one first, then the next or the retiring one. */
  roots: PemChain,
  /** SHA-256 of each root's SubjectPublicKeyInfo, hex, in the order of `roots`. */
  pins: z.array(z.string().length(64)),
  /** Root of the certificates that people's tools see, or two while it is rotated: they outlive a rotation of `roots`. */
  servingRoot: Pem,
  /** Where agents reach gateways; none: where their import manifest says. */
  endpoints: z.array(LinkEndpoint).max(32).default([]),
  signed: SignedTrust,
});
export type TrustBundle = z.infer<typeof TrustBundle>;

/** A root or issuing CA that still counts. */
export const CaAuthority = z.object({
  id: z.uuid(),
  /** `identity`: agents, gateways, clients; `serving`: what people's tools see. */
  tree: z.enum(['identity', 'serving']),
  role: z.enum(['root', 'issuing']),
  /** `next`: trusted, signs nothing yet; `retiring`: still trusted, signs nothing more. */
  state: z.enum(['next', 'active', 'retiring']),
  subject: z.string().max(512),
  pin: z.string().length(64),
  notBefore: IsoTime,
  notAfter: IsoTime,
  /** `offline`: its private key is not here; somebody else holds it. */
  key: z.enum(['sealed', 'offline']),
});
export type CaAuthority = z.infer<typeof CaAuthority>;

/** A cluster that would lose its link by the next step. */
export const WaitedCluster = z.object({
  tenantId: TenantId,
  clusterId: ClusterId,
  /** Of the trust bundle that its agent said it holds; 0: it never did. */
  heldVersion: TrustVersion,
  /** `unacknowledged`: it may not know the next root; `old-certificate`: its certificate is of the retiring root. */
  why: z.enum(['unacknowledged', 'old-certificate']),
  /** From then on it could not come back by itself anyhow. */
  waitedUntil: IsoTime,
});
export type WaitedCluster = z.infer<typeof WaitedCluster>;

/** A rotation of the identity tree's root that is under way. */
export const CaRotation = z.object({
  /** `prepared`: the next root is being made known; `activated`: it signs, and certificates of the old one are being replaced. */
  step: z.enum(['prepared', 'activated']),
  since: IsoTime,
  /** Clusters whose agents count, and how many of them are done with this step. */
  clusters: z.int().min(0),
  clustersDone: z.int().min(0),
  /** The first 100 of those that are not. */
  waitingFor: z.array(WaitedCluster).max(100),
  /** Replicas that do not hold the current bundle. */
  gateways: z.array(z.object({ credential: CredentialName, instance: z.uuid(), heldVersion: TrustVersion })).max(256),
  /** Certificates of clients and gateways by the retiring root that have not ended, and when the last one does. */
  otherCertificates: z.int().min(0),
  otherCertificatesUntil: IsoTime.nullable(),
});
export type CaRotation = z.infer<typeof CaRotation>;

export const CaStatus = z.object({
  trustDomain: z.string().max(255),
  trustVersion: TrustVersion,
  authorities: z.array(CaAuthority).max(16),
  rotation: CaRotation.nullable(),
});
export type CaStatus = z.infer<typeof CaStatus>;

export const RotateCa = z.object({
  /** `abort` takes a prepared root back; the others go one step on. */
  step: z.enum(['prepare', 'activate', 'retire', 'abort']),
  /** Go on although clusters, replicas or certificates are waited for: they are cut off. */
  force: z.boolean().default(false),
});
export type RotateCa = z.infer<typeof RotateCa>;

/** What agents said that they hold now. */
export const TrustHeldBatch = z.object({
  held: z
    .array(z.object({ clusterId: ClusterId, version: TrustVersion }))
    .min(1)
    .max(500),
});
