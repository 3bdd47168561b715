import { z } from 'zod';
import { ClusterId, Generation } from './primitives.js';

/** Agents say it and people are shown it: nothing in it moves a cursor or passes for something else. */
const word = (max: number): z.ZodString =>
  z
    .string()
    .max(max)
    .regex(/^([a-z0-9][a-z0-9.:-]*)?$/, 'expected lower-case letters, digits, dots, colons and dashes');

/** How many nodes a cluster has, and how many of them are Ready. */
export const NodeCount = z
  .object({ total: z.int().min(0).max(1_000_000), ready: z.int().min(0) })
  .refine(({ total, ready }) => ready <= total, 'more nodes are ready than there are');
export type NodeCount = z.infer<typeof NodeCount>;

/**
 * What an agent says of itself and of its cluster. Nobody checks it, and an older agent leaves out what it does not know of: the
 * rest then stands as here by default.
 */
export const Facts = z.object({
  agentVersion: z.string().max(64),
  kubernetesVersion: z.string().max(64),
  platform: z.string().max(64),
  /** Whose Kubernetes it is, such as `k3s` or `eks`; empty: not known. */
  distribution: word(32).default(''),
  /** Whose machines the nodes are, such as `aws`; empty: not known. */
  provider: word(32).default(''),
  /** Null: the agent may not list nodes, or could not, or is too old to count them. */
  nodes: NodeCount.nullable().default(null),
  /**
   * What its rights there allow (`rbac:impersonate-users`, `rbac:impersonate-admins`, `rbac:impersonate-roles`, `rbac:list-nodes`)
   * and what it can do on the link (`link:kube-api`, `link:statements`, `link:statements-required`, `link:tcp`, `link:trust`, `link:facts`). None: it does not say. Newer agents may say more.
   */
  capabilities: z.array(word(48).min(1)).max(24).default([]),
});
export type Facts = z.infer<typeof Facts>;

/** Of one cluster, as a gateway heard it from an agent of this enrolment. */
export const ClusterFacts = z.object({ clusterId: ClusterId, generation: Generation, facts: Facts });
export type ClusterFacts = z.infer<typeof ClusterFacts>;
/** In one report, one of each cluster. */
export const MAX_CLUSTER_FACTS = 50;
