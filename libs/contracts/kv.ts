import { z } from 'zod';
import { TokenKind } from './access.js';
import { SignedTrust } from './ca.js';
import { AgentPod } from './presence.js';
import { GitHostName } from './git-keys.js';
import { HostPublicKey } from './git-primitives.js';
import {
  ClientName,
  ClusterId,
  ClusterName,
  Generation,
  IsoTime,
  KubeIdentity,
  Labels,
  TenantId,
} from './primitives.js';

/** `gateway.<credential>.<boot id>`, put again every few seconds: O(gateways) whatever the number of agents. */
export const GatewayHeartbeat = z.object({
  credential: z.string(),
  instance: z.uuid(),
  /** When this process began, by its own clock; absent: it is of a version that does not say so. */
  startedAt: IsoTime.optional(),
  /** `host:port` where other replicas reach this one's relay. */
  relayAddress: z.string().max(255),
  zone: z.string().max(63),
  /** Tunnels in use, all clusters. */
  inFlight: z.int().min(0),
  draining: z.boolean(),
  /** Version of the trust bundle that it verifies agents, clients and replicas by; 0: none yet. */
  trustVersion: z.int().min(0).default(0),
  /** Goes up by one each time; a watcher tells liveness by change, never by comparing clocks. */
  beat: z.int().min(0),
});
export type GatewayHeartbeat = z.infer<typeof GatewayHeartbeat>;

/** `session.<credential>.<boot id>.<tenant>.<cluster id>.<session id>`: one agent link. */
export const LinkRoute = z.object({
  tenantId: TenantId,
  clusterId: ClusterId,
  generation: Generation,
  sessionId: z.uuid(),
  gatewayInstance: z.uuid(),
  agentInstance: z.string().max(64),
  /** Where the link comes from, as this replica sees it. */
  address: z.string().max(64).default(''),
  connectedAt: IsoTime,
  /** Of the agent, as it says. */
  agentVersion: z.string().max(64).default(''),
  /** Where it says that it runs; null: it does not say. */
  pod: AgentPod.nullable().default(null),
});
export type LinkRoute = z.infer<typeof LinkRoute>;

/** `<tenant>.<cluster id>`. */
export const ClusterEntry = z.object({
  tenantId: TenantId,
  clusterId: ClusterId,
  name: ClusterName,
  generation: Generation,
  /** Desired state is chosen by them. */
  labels: Labels.default({}),
  /** Its agent is to serve nobody by a gateway's word alone; absent: no. */
  requireStatements: z.boolean().optional(),
});
export type ClusterEntry = z.infer<typeof ClusterEntry>;

const SubjectGroups = z.array(z.string().min(1).max(256)).max(256);

/**
 * `<tenant>.token.<token id>`. The hash is SHA-256 of at least 192 random bits, base64: nothing to guess. Its groups are those that it has in every
 * cluster without a grant: only the administrator's has any.
 */
export const AccessEntry = KubeIdentity.extend({
  tenantId: TenantId,
  tokenId: z.uuid(),
  tokenHash: z.string().max(64),
  expiresAt: IsoTime.nullable(),
  kind: TokenKind,
  /** Groups of the issuer, by which grants are found. */
  subjectGroups: SubjectGroups,
  /** Of a person's login: the session that it renews. */
  sessionId: z.uuid().optional(),
});
export type AccessEntry = z.infer<typeof AccessEntry>;

/**
 * `<tenant>.session.<session id>`: a person's login and its renewals. What they began by a token of it goes on while it does, `MAX_LOGIN_STREAM_MS` at
 * most; it opens nothing.
 */
export const LoginSessionEntry = z.object({
  tenantId: TenantId,
  sessionId: z.uuid(),
  user: KubeIdentity.shape.user,
  /** As the newest token of theirs says. */
  subjectGroups: SubjectGroups,
  endsAt: IsoTime,
});
export type LoginSessionEntry = z.infer<typeof LoginSessionEntry>;

/** What is below the keys of the bucket `access`. */
export const AccessBucketEntry = z.union([AccessEntry, LoginSessionEntry]);
export type AccessBucketEntry = z.infer<typeof AccessBucketEntry>;

/** What somebody who logged in began goes on no longer than a day's work. */
export const MAX_LOGIN_STREAM_MS = 12 * 3_600_000;

/** `<tenant>.<client id>`. A client that has no entry is nobody, whatever its certificate says. */
export const ClientEntry = z.object({
  tenantId: TenantId,
  clientId: z.uuid(),
  name: ClientName,
  /** Null: every cluster of the tenant. */
  clusterIds: z.array(ClusterId).max(256).nullable(),
});
export type ClientEntry = z.infer<typeof ClientEntry>;

/**
 * `certificate.<serial>`: one certificate. `notAfter`: until then replicas know it, which is 30 days longer than the certificate's own
 * end and its revocation, because links and tunnels outlive their certificate. Gone from the bucket after it.
 */
const CertificateRevocation = z.object({
  kind: z.literal('certificate'),
  serial: z.string().max(64),
  notAfter: IsoTime,
});
/** `cluster.<cluster id>`: every certificate of the cluster's enrolments up to and including this one. */
const GenerationRevocation = z.object({
  kind: z.literal('generation'),
  clusterId: ClusterId,
  throughGeneration: Generation,
});
/** `state`: how many other keys there are. A bucket that holds less has lost some, and nobody is to be admitted by it. */
const RevocationState = z.object({ kind: z.literal('state'), count: z.int().min(0) });
export const RevocationEntry = z.discriminatedUnion('kind', [
  CertificateRevocation,
  GenerationRevocation,
  RevocationState,
]);
export type RevocationEntry = z.infer<typeof RevocationEntry>;

export const revocationKeys = {
  certificate: (serial: string): string => `certificate.${serial}`,
  cluster: (clusterId: string): string => `cluster.${clusterId}`,
  state: 'state',
} as const;

/** `identity`: the roots of agents, gateways, clients and services, and the version they go by. */
export const TrustEntry = SignedTrust.extend({ version: z.int().min(1) });
export type TrustEntry = z.infer<typeof TrustEntry>;
export const TRUST_KEY = 'identity';

/** `<tenant>`: `StatementRevocations` of @fairlead/access-statement as the keys service signed them. */
export const StatementRevocationsEntry = z.object({ number: z.int().min(1), envelope: z.base64().max(32_768) });
export type StatementRevocationsEntry = z.infer<typeof StatementRevocationsEntry>;

/** `<tenant>.<cluster id>`: a `DesiredState` of @fairlead/desired-state as the keys service signed it. */
export const DesiredEntry = z.object({
  revision: z.int().min(1),
  document: z.base64().max(48_000),
  signerChain: z.array(z.string().max(16_384)).min(1).max(4),
  signature: z.base64().max(1_024),
});
export type DesiredEntry = z.infer<typeof DesiredEntry>;

/** `<tenant>.<host id>`. A host without approved keys is followed by nobody. */
export const GitHostEntry = z.object({
  id: z.uuid(),
  name: GitHostName,
  sshHost: z.string().max(253),
  sshPort: z.int().min(1).max(65_535),
  approvedKeys: z.array(HostPublicKey).max(16),
});
export type GitHostEntry = z.infer<typeof GitHostEntry>;

export const routeKeys = {
  gateway: (credential: string, instance: string): string => `gateway.${credential}.${instance}`,
  session: (credential: string, route: LinkRoute): string =>
    `session.${credential}.${route.gatewayInstance}.${route.tenantId}.${route.clusterId}.${route.sessionId}`,
} as const;
