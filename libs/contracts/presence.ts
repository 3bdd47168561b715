import { z } from 'zod';
import { ObjectName } from './kubernetes-names.js';
import { ClusterId, IsoTime } from './primitives.js';

/** Why a cluster's agent was turned away, or lost its link, the last time that happened. */
export const LastError = z.object({
  at: IsoTime,
  /** An error code. */
  code: z.string().min(1).max(64),
  reason: z.string().max(256),
  /** Where the agent came from, as the replica saw it. */
  address: z.string().max(64),
  /** The gateway that saw it; empty if registration refused it. */
  replica: z.string().max(63),
});
export type LastError = z.infer<typeof LastError>;

/** The same, as a gateway reports it: who reports is not for it to say. */
export const LinkProblem = LastError.omit({ replica: true }).extend({ clusterId: ClusterId });
export type LinkProblem = z.infer<typeof LinkProblem>;
/** In one report, at most one of each cluster. */
export const MAX_LINK_PROBLEMS = 200;

const Uid = z.string().regex(/^[A-Za-z0-9-]{1,64}$/);

/** The pod that an agent says it is in, in words that Kubernetes gives an object, as people are shown it. It has the identity of its cluster, and nobody can check what it says. */
export const AgentPod = z.object({
  /** UID of the namespace `kube-system`, which is another one in each cluster. */
  clusterUid: Uid,
  name: ObjectName,
  uid: Uid,
  /** Empty: not known. */
  node: z.union([ObjectName, z.literal('')]),
  /** Pods that the agent's Deployment is to have. */
  replicas: z.int().min(0).max(1_000),
});
export type AgentPod = z.infer<typeof AgentPod>;

/** One process that is linked as a cluster's agent. */
export const LinkedAgent = z.object({
  /** Boot id that it gave itself. */
  instance: z.string().max(64),
  /** Where its links come from. */
  addresses: z.array(z.string().max(64)).max(16),
  since: IsoTime,
  /** As it says; empty if it does not. */
  version: z.string().max(64).default(''),
  /** Where it says that it runs; null: it does not say. */
  pod: AgentPod.nullable().default(null),
});
export type LinkedAgent = z.infer<typeof LinkedAgent>;

/**
 * Why the processes that are linked as one cluster's agent are not the pods of its Deployment. `elsewhere`: they say that they run in several clusters, or
 * not all of them say where; `same-pod`: several say that they are the same pod; `surplus`: they are more than the Deployment
 * has, as they may be during a rollout.
 */
export const Duplicate = z.enum(['elsewhere', 'same-pod', 'surplus']);
export type Duplicate = z.infer<typeof Duplicate>;

export const Presence = z.object({
  /** Draining: every replica that holds a link is about to leave. */
  state: z.enum(['never', 'online', 'draining', 'offline']),
  /** Gateway credentials (replica names) that hold a link of this cluster. */
  replicas: z.array(z.string()),
  /** Replicas that there are and that do not drain, whoever is linked to them; 0: not known. */
  liveReplicas: z.int().min(0).default(0),
  since: IsoTime.nullable(),
  /** Oldest first: the pods of its agent, if `duplicate` does not say otherwise. */
  agents: z.array(LinkedAgent).max(16).default([]),
  /** For longer than one takes another's place, or a rollout takes: somebody else has the agent's identity. Null: nothing speaks for that. */
  duplicate: Duplicate.nullable().default(null),
  /** The last refusal or loss, whatever came after it. */
  lastError: LastError.nullable().default(null),
});
export type Presence = z.infer<typeof Presence>;
