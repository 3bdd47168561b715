import { z } from 'zod';
import { AuditTree, AuditTreeSigned, AuditTreeToSign, SignedAuditTree } from './audit-log.js';
import { EndpointSet, PutEndpoint, RemoveEndpoint } from './endpoints.js';
import { CaStatus, RotateCa, TrustBundle, TrustHeldBatch } from './ca.js';
import {
  Base64,
  ClusterId,
  CredentialName,
  Generation,
  IsoTime,
  PemChain,
  RevocationReason,
  Serial,
  UserName,
} from './primitives.js';
import { rpcOf } from './rpc.js';

export const Issued = z.object({
  /** Leaf first, the issuing CA next, the root last; before it, during a rotation, the root's certificate by the old one. */
  chain: PemChain,
  /** Roots to trust, current and next. */
  roots: PemChain,
  serial: z.string().max(64),
  notAfter: IsoTime,
  /** Version of the trust bundle at the time; a lower one is not to be taken later. */
  trustVersion: z.int().min(0).default(0),
});
export type Issued = z.infer<typeof Issued>;

export const CertificateRecord = z.object({
  serial: Serial,
  purpose: z.enum(['agent', 'gateway', 'client', 'serving']),
  /** SPIFFE id, or the DNS names and addresses of a serving certificate. */
  names: z.array(z.string().max(512)).max(16),
  generation: Generation.nullable(),
  notBefore: IsoTime,
  notAfter: IsoTime,
  /** By itself, or with its cluster's enrolment. */
  revokedAt: IsoTime.nullable(),
  revokedFor: RevocationReason.nullable(),
});
export type CertificateRecord = z.infer<typeof CertificateRecord>;

const CertificatePage = z.object({ certificates: z.array(CertificateRecord).max(200), next: Serial.optional() });

const rpc = rpcOf('keys');

/** What the keys service answers. In every CSR only the key and the proof of possession count. */
export const keysRpc = {
  trustBundle: rpc('trust-bundle', ['api', 'gateway', 'registration'], z.object({}), TrustBundle),
  /** An agent's certificate, for a token that registration has checked. */
  signAgent: rpc(
    'sign-agent',
    ['registration'],
    z.object({ clusterId: ClusterId, generation: Generation, csr: Base64 }),
    Issued,
  ),
  /** A fresh key for an agent that proves it holds the current one: the gateway only carries it. */
  renewAgent: rpc('renew-agent', ['gateway'], z.object({ csr: Base64, currentChain: PemChain, proof: Base64 }), Issued),
  /** The identity `/gateway/<credential>` of the caller; the credential comes from the subject, not from the request. */
  signGateway: rpc('sign-gateway', ['gateway'], z.object({ csr: Base64 }), Issued),
  /** The identity `/client/<id>` of a program that comes to the CONNECT door. */
  signClient: rpc('sign-client', ['registration'], z.object({ clientId: z.uuid(), csr: Base64 }), Issued),
  /** A serving certificate for the names that the keys service's configuration allows. */
  signServing: rpc(
    'sign-serving',
    ['api', 'gateway'],
    z.object({ csr: Base64, names: z.array(z.string().min(1).max(253)).min(1).max(16) }),
    Issued,
  ),
  /** Worth nothing from then on, wherever it is shown. Again: no change. NOT_FOUND if it is none of the tenant's; those of gateways are the default tenant's. */
  revokeCertificate: rpc(
    'revoke-certificate',
    ['api'],
    z.object({ serial: Serial, reason: RevocationReason }),
    CertificateRecord,
  ),
  /** The same for all that a cluster's enrolments up to this one have, or would still get. */
  revokeGenerations: rpc(
    'revoke-generations',
    ['registration'],
    z.object({
      clusterId: ClusterId,
      throughGeneration: Generation,
      reason: RevocationReason,
      /** Nobody enrols for it again: gateways need not know of it for good. */
      clusterDeleted: z.boolean().default(false),
    }),
    z.object({}),
  ),
  /**
   * Of one cluster, those that end last first; `next` is there if there may be more: pass it as `after`. INVALID_ARGUMENT for an `after`
   * that is no certificate of the cluster.
   */
  listCertificates: rpc(
    'list-certificates',
    ['api'],
    z.object({ clusterId: ClusterId, after: Serial.optional() }),
    CertificatePage,
  ),
  /** Of all gateways, likewise. Subject tenant: NO_TENANT, because they belong to the installation. */
  listGatewayCertificates: rpc(
    'list-gateway-certificates',
    ['api'],
    z.object({ after: Serial.optional() }),
    CertificatePage,
  ),
  /**
   * The same as `revokeCertificate` for all that the gateway of this name has had, a thousand at once; `more`: ask again. Its credential gets
   * new ones, until it is taken away. NOT_FOUND. Subject tenant: NO_TENANT.
   */
  revokeGateway: rpc(
    'revoke-gateway',
    ['api'],
    z.object({ name: CredentialName, reason: RevocationReason }),
    z.object({ revoked: z.int().min(0), more: z.boolean() }),
    15_000,
  ),
  /** The CA and, while a root is rotated, who is waited for. */
  caStatus: rpc('ca-status', ['api'], z.object({}), CaStatus, 15_000),
  /** One step of a rotation of the identity tree's root. CONFLICT: not the step that is due, or somebody would be cut off. */
  rotateCa: rpc('rotate-ca', ['api'], RotateCa, CaStatus, 15_000),
  /** Where agents reach gateways, and how many know. Subject tenant of these three: NO_TENANT, because they belong to the installation. */
  endpoints: rpc('endpoints', ['api'], z.object({}), EndpointSet),
  /**
   * Adds one, or says something else of the one at this address. Again: no change. INVALID_ARGUMENT for one too many; CONFLICT if no active one
   * would be left, or so many changes are not to be made at this time.
   */
  putEndpoint: rpc('put-endpoint', ['api'], PutEndpoint, EndpointSet, 15_000),
  /** NOT_FOUND; CONFLICT if no active one would be left beside draining ones. */
  removeEndpoint: rpc('remove-endpoint', ['api'], RemoveEndpoint, EndpointSet, 15_000),
  /**
   * Signs JSON of an `AccessStatement`, for a cluster of the tenant and from now on. It ends earlier than it says where the CA does. INVALID_ARGUMENT for what is
   * none, or has more time than its kind may; FORBIDDEN for another tenant's statement or cluster; UNAVAILABLE when the issuing CA has ended.
   */
  signAccessStatement: rpc(
    'sign-access-statement',
    ['access'],
    z.object({ document: z.base64().max(24_576) }),
    z.object({ envelope: z.base64().max(32_768), openUntil: IsoTime }),
  ),
  /**
   * Signs JSON of `StatementRevocations` of the tenant, and shows it to gateways, which tell agents. Only a higher number than that which is held takes its place: the
   * answer is the number that is held then, and whether that is this very list. INVALID_ARGUMENT for what is none; FORBIDDEN for another tenant's; UNAVAILABLE when the issuing CA has ended.
   */
  putStatementRevocations: rpc(
    'put-statement-revocations',
    ['access'],
    z.object({ document: z.base64().max(24_576) }),
    z.object({ number: z.int().min(1), taken: z.boolean() }),
  ),
  /** What was signed last of the tenant's audit log; null: nothing yet. */
  auditLog: rpc('audit-log', ['api', 'audit'], z.object({}), z.object({ tree: SignedAuditTree.nullable() })),
  /**
   * Signs a checkpoint of the tenant's audit log. CONFLICT where the proof does not show that it goes on from the one that was signed last. A proof from
   * another tree than that is not looked at: the answer says which it is.
   */
  signAuditTree: rpc('sign-audit-tree', ['audit'], AuditTreeToSign, AuditTreeSigned),
  /** Another log takes the place of one that cannot go on. It is told as an event. CONFLICT unless `after` is what was signed last. */
  beginAuditLogAnew: rpc(
    'begin-audit-log-anew',
    ['audit'],
    z.object({ after: AuditTree, first: AuditTree.pick({ size: true, root: true }), by: UserName }),
    SignedAuditTree,
  ),
  /** Agents hold a version of the trust bundle, and will after a restart. */
  acknowledgeTrust: rpc('acknowledge-trust', ['gateway'], TrustHeldBatch, z.object({})),
} as const;
