import { z } from 'zod';
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
export const MAX_TROUBLES = 200;

/** One process that is linked as a cluster's agent. */
export const LinkedAgent = z.object({
  /** Boot id that it gave itself. */
  instance: z.string().max(64),
  /** Where its links come from. */
  addresses: z.array(z.string().max(64)).max(16),
  since: IsoTime,
  /** As it says; empty if it does not. */
  version: z.string().max(64).default(''),
});
export type LinkedAgent = z.infer<typeof LinkedAgent>;

export const Presence = z.object({
  /** Draining: every replica that holds a link is about to leave. */
  state: z.enum(['never', 'online', 'draining', 'offline']),
  /** Gateway credentials (replica names) that hold a link of this cluster. */
  replicas: z.array(z.string()),
  since: IsoTime.nullable(),
  /** Oldest first. More than one for longer than a rollout takes: somebody else has the agent's identity. */
  agents: z.array(LinkedAgent).max(16).default([]),
  /** The last refusal or loss, whatever came after it. */
  lastError: LastError.nullable().default(null),
});
export type Presence = z.infer<typeof Presence>;
