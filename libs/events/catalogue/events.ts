import {
  ApprovalPolicy,
  ClientName,
  ClusterId,
  ClusterName,
  Duplicate,
  Facts,
  Generation,
  IsoTime,
  Labels,
  LinkEndpoint,
  LinkedAgent,
  TenantQuotas,
} from '@fairlead/contracts';
import { z } from 'zod';
import { event } from '../event-shape.js';
import { GIT_EVENTS } from '../git-events.js';
import { GITOPS_EVENTS } from '../gitops-events.js';
import { GRANT_EVENTS } from '../grant-events.js';
import { LOGIN_EVENTS } from '../login-events.js';
import { SUBSCRIBER_EVENTS } from '../subscriber-events.js';

export { Actor } from '../event-shape.js';

const cluster = { clusterId: ClusterId, name: ClusterName };
const client = { clientId: z.uuid(), name: ClientName };
const maybeCluster = { clusterId: ClusterId.nullable() };
const session = {
  clusterId: ClusterId,
  generation: Generation,
  sessionId: z.uuid(),
  gateway: z.string().max(63),
  /** Comings and goings of this cluster there that were not told, because there were too many, since the last one that was. */
  suppressed: z.int().min(0).default(0),
};
/** Those that a decision stands on, some of them if they are many. */
const grantIds = z.array(z.uuid()).max(8).default([]);
const stream = {
  clusterId: ClusterId,
  gateway: z.string().max(63),
  /** The same in all events of one stream; its line in the gateway's log has it as `requestId`. */
  streamId: z.uuid(),
  kind: z.enum(['exec', 'attach', 'portforward', 'proxy', 'other']),
  protocol: z.enum(['websocket', 'SPDY/3.1']),
  /** As it was asked for; empty: none, as of nodes. */
  namespace: z.string().max(253),
  /** `pods/web-0`; empty: a path that is no stream of Kubernetes' own API. */
  object: z.string().max(264),
  /** Empty: the first one. */
  container: z.string().max(253),
  command: z.array(z.string().max(256)).max(32),
  /** It is longer than that. */
  commandCut: z.boolean(),
  stdin: z.boolean(),
  tty: z.boolean(),
  /** The user that the cluster sees (`kubectl --as`); empty: the actor. */
  as: z.string().max(256).default(''),
  /** The groups that go with `as`, the first of them if they are many. */
  asGroups: z.array(z.string().max(256)).max(32).default([]),
  /** Empty: the administrator's. */
  grantIds,
};
/** `user`: who its holder is in clusters and in events. */
const apiToken = { tokenId: z.uuid(), user: z.string().max(256), name: z.string().max(63).optional() };
const enrolmentRequest = { requestId: z.uuid(), fingerprint: z.string().length(64) };
/** Roots after the step, as in the trust bundle of this version. */
const roots = { pins: z.array(z.string().length(64)).max(4), trustVersion: z.int() };
/** Who was still waited for when somebody went on in spite of it. */
const cutOff = {
  forced: z.boolean(),
  cutOffClusters: z.int().min(0),
  cutOffGateways: z.int().min(0),
  cutOffCertificates: z.int().min(0),
};
/** Events of the same kind and the same one, or of all who proved nothing, that were not told before this one, because there were too many. */
const rateLimited = { suppressed: z.int().min(0).default(0) };
const certificatePurpose = z.enum(['agent', 'gateway', 'client', 'serving']);

const clusterSettings = {
  labels: Labels.default({}),
  links: z.int(),
  targets: z.array(z.string().max(300)).max(64).default([]),
  egress: z.array(z.string().max(300)).max(16).default([]),
  gitops: z.boolean().default(false),
  /** Which of the manifest values are set. */
  manifestValues: z.array(z.string().max(64)).max(32).default([]),
};

/**
 * Every event there is, by type. A type with its version is part of the public contract: fields may be added, anything
 * else is a new version. None of them holds a secret of ours; a command that somebody ran in a pod may hold one of theirs.
 */
export const EVENTS = {
  ...GITOPS_EVENTS,
  ...LOGIN_EVENTS,
  ...SUBSCRIBER_EVENTS,
  'dev.fairlead.tenant.created.v1': event({ quotas: TenantQuotas }),
  /** All quotas as they are from then on. */
  'dev.fairlead.tenant.changed.v1': event({ quotas: TenantQuotas }),
  'dev.fairlead.tenant.deleted.v1': event({}),
  'dev.fairlead.cluster.created.v1': event({ ...cluster, ...clusterSettings }),
  /** Its labels and what its import manifest says from then on, all of it. */
  'dev.fairlead.cluster.changed.v1': event({ ...cluster, ...clusterSettings }),
  'dev.fairlead.cluster.deleted.v1': event(cluster),
  /** Its agent says something else of it than before: a version, nodes, what it may do. */
  'dev.fairlead.cluster.facts-changed.v1': event({ ...cluster, facts: Facts }),
  /** Every certificate of the enrolments up to this generation. */
  'dev.fairlead.cluster.revoked.v1': event({ ...cluster, throughGeneration: Generation, why: z.string().max(256) }),
  /** Null: every cluster of the tenant. */
  'dev.fairlead.client.created.v1': event({ ...client, clusterIds: z.array(ClusterId).max(256).nullable() }),
  'dev.fairlead.client.certified.v1': event({ ...client, serial: z.string().max(64), notAfter: IsoTime }),
  'dev.fairlead.client.deleted.v1': event(client),
  'dev.fairlead.import-link.created.v1': event({ ...cluster, expiresAt: IsoTime }),
  'dev.fairlead.import-link.redeemed.v1': event({ ...cluster, tokenId: z.string().max(64) }),
  'dev.fairlead.import-link.refused.v1': event({ ...maybeCluster, ...rateLimited }),
  'dev.fairlead.token.minted.v1': event({ ...cluster, tokenId: z.string().max(64), expiresAt: IsoTime }),
  'dev.fairlead.token.revoked.v1': event({ ...cluster, tokenId: z.string().max(64) }),
  'dev.fairlead.api-token.created.v1': event({ ...apiToken, expiresAt: IsoTime.nullable().optional() }),
  'dev.fairlead.api-token.revoked.v1': event(apiToken),
  'dev.fairlead.enrolment.succeeded.v1': event({
    ...cluster,
    /** Of the bootstrap token; `adoption` for an agent that had none, `static` for an identity that was handed out. */
    tokenId: z.string().max(64),
    generation: Generation,
    spkiSha256: z.string().max(64),
    agentVersion: z.string().max(64),
    kubernetesVersion: z.string().max(64),
    /** What its agent says of the cluster, if that is not what was known of it before. */
    facts: Facts.optional(),
  }),
  'dev.fairlead.enrolment.refused.v1': event({ ...maybeCluster, ...rateLimited, tokenId: z.string().max(64) }),
  /** An agent waits for an administrator. */
  'dev.fairlead.enrolment.requested.v1': event({ ...maybeCluster, ...enrolmentRequest, ...rateLimited }),
  /** `insecure`: nobody looked at it. */
  'dev.fairlead.enrolment.approved.v1': event({ ...cluster, ...enrolmentRequest, insecure: z.boolean() }),
  'dev.fairlead.enrolment.rejected.v1': event({
    ...maybeCluster,
    ...enrolmentRequest,
    ...rateLimited,
    why: z.string().max(256),
  }),
  'dev.fairlead.approval-policy.changed.v1': event({ ...maybeCluster, policy: ApprovalPolicy.nullable() }),
  'dev.fairlead.ca.created.v1': event({ pins: z.array(z.string().length(64)), trustDomain: z.string().max(255) }),
  /** A root that will be the next one is made known; `imported`: it was made elsewhere. */
  'dev.fairlead.ca.prepared.v1': event({ ...roots, imported: z.boolean() }),
  'dev.fairlead.ca.activated.v1': event({ ...roots, ...cutOff }),
  'dev.fairlead.ca.retired.v1': event({ ...roots, ...cutOff }),
  /** A prepared root was taken back. */
  'dev.fairlead.ca.aborted.v1': event(roots),
  /** The same roots have a higher version, for agents that were given one that was never made. */
  'dev.fairlead.ca.trust-raised.v1': event(roots),
  /** Agents are told to reach gateways there from now on: all of them, as in the trust bundle of this version. */
  'dev.fairlead.endpoints.changed.v1': event({ endpoints: z.array(LinkEndpoint).max(32), trustVersion: z.int() }),
  /** Everything that `keys` keeps sealed is under this master key now; `rows` were under another one before this run. */
  'dev.fairlead.master-key.rewrapped.v1': event({ keyName: z.string().max(255), rows: z.number().int().min(0) }),
  /** A tenant's audit log could not go on from the checkpoint that was signed last, which is here, and begins anew under another origin. */
  'dev.fairlead.audit-log.begun-anew.v1': event({ origin: z.string().max(512), lastNote: z.string().max(4_096) }),
  /** A step of the rotation of what people's tools see; `certificates` of the old root that had not ended. */
  'dev.fairlead.ca.serving-rotated.v1': event({
    step: z.enum(['prepare', 'activate', 'retire', 'abort']),
    pins: roots.pins,
    forced: z.boolean(),
    certificates: z.int().min(0),
  }),
  'dev.fairlead.ca.issuing-replaced.v1': event({
    tree: z.enum(['identity', 'serving']),
    pin: z.string().length(64),
    notAfter: IsoTime,
  }),
  'dev.fairlead.certificate.issued.v1': event({
    ...maybeCluster,
    purpose: certificatePurpose,
    serial: z.string().max(64),
    /** SPIFFE id, or the DNS names and addresses of a serving certificate. */
    names: z.array(z.string().max(512)).max(16),
    generation: Generation.nullable(),
    notAfter: IsoTime,
  }),
  'dev.fairlead.certificate.refused.v1': event({ ...maybeCluster, ...rateLimited, purpose: certificatePurpose }),
  'dev.fairlead.certificate.revoked.v1': event({
    ...maybeCluster,
    purpose: certificatePurpose,
    serial: z.string().max(64),
    why: z.string().max(256),
  }),
  'dev.fairlead.agent.connected.v1': event(session),
  'dev.fairlead.agent.disconnected.v1': event({ ...session, durationMs: z.int().min(0) }),
  /** Several processes are linked with the identity of one cluster, and are not the pods of its agent, for longer than one takes the other's place. */
  'dev.fairlead.agent.duplicated.v1': event({
    ...cluster,
    duplicate: Duplicate,
    agents: z.array(LinkedAgent).min(2).max(16),
  }),
  'dev.fairlead.agent.refused.v1': event({ ...maybeCluster, gateway: z.string().max(63) }),
  /** A user at a door, or a target that the agent's policy refuses. */
  'dev.fairlead.access.refused.v1': event({
    ...maybeCluster,
    gateway: z.string().max(63),
    door: z.string().max(32),
    method: z.string().max(16),
    grantIds,
    /** Refusals of the same user, client or cluster, or of the unauthenticated, that were not told, because there were too many. */
    suppressed: z.int().min(0).default(0),
  }),
  /** The token that needs no grant, and is for when all else is away, was used: at a door or at the API. */
  'dev.fairlead.administrator.used.v1': event({
    tokenId: z.uuid(),
    /** `door/kube-api`, or `api`. */
    at: z.string().max(64),
    /** The replica, or the service. */
    by: z.string().max(63),
    method: z.string().max(16),
    ...rateLimited,
  }),
  /** Somebody was let in to a pod or a Service: exec, attach, port-forward, or an upgrade by `proxy`. */
  'dev.fairlead.stream.opened.v1': event(stream),
  /** Its reason is a code of ours, or `HTTP_403` and the like for what the cluster itself answered. */
  'dev.fairlead.stream.refused.v1': event({ ...stream, status: z.int() }),
  'dev.fairlead.stream.ended.v1': event({
    ...stream,
    /** Towards the cluster, and back. */
    bytesUp: z.int().min(0),
    bytesDown: z.int().min(0),
    durationMs: z.int().min(0),
  }),
  'dev.fairlead.rpc.refused.v1': event({ service: z.string().max(32), method: z.string().max(64) }),
  ...GIT_EVENTS,
  ...GRANT_EVENTS,
} as const;

export type EventType = keyof typeof EVENTS;
export type EventInput<T extends EventType> = z.input<(typeof EVENTS)[T]>;
