import { z } from 'zod';
import { Facts } from './facts.js';
import { ManifestValues } from './manifest-values.js';
import { Presence } from './presence.js';
import {
  ClusterId,
  ClusterName,
  EgressPorts,
  Generation,
  IsoTime,
  Labels,
  TargetRules,
  TenantId,
} from './primitives.js';

export const Cluster = z.object({
  id: ClusterId,
  tenantId: TenantId,
  name: ClusterName,
  labels: Labels,
  /** Replicas the agent keeps a link to. */
  links: z.int().min(1).max(4),
  /** What its agent opens for raw TCP; none: nothing. Takes effect when the import manifest is applied. */
  targets: TargetRules.default([]),
  /** Ports of its agent for connections out of the cluster; none: none. Takes effect when the import manifest is applied. */
  egress: EgressPorts.default([]),
  /** Does its import manifest bring an installer of GitOps tools? */
  gitops: z.boolean().default(false),
  /** How its pods are to run, as its import manifest says. Takes effect when that is applied. */
  manifestValues: ManifestValues.default({}),
  generation: Generation,
  createdAt: IsoTime,
  enrolledAt: IsoTime.nullable(),
  /** As its agent said last; null before the first enrolment. */
  facts: Facts.nullable().default(null),
  presence: Presence,
});
export type Cluster = z.infer<typeof Cluster>;

export const CreateCluster = z.object({
  name: ClusterName,
  labels: Labels.default({}),
  links: z.int().min(1).max(4).default(2),
  targets: TargetRules.default([]),
  egress: EgressPorts.default([]),
  gitops: z.boolean().default(false),
  manifestValues: ManifestValues.default({}),
});
export type CreateCluster = z.infer<typeof CreateCluster>;

/** Of a cluster that is there: what its import manifest says, from the next time it is applied. What is left out stays. */
export const ClusterChange = z.object({
  links: Cluster.shape.links.optional(),
  targets: TargetRules.optional(),
  egress: EgressPorts.optional(),
  gitops: z.boolean().optional(),
  /** All of them from then on: none of those before stays. */
  manifestValues: ManifestValues.optional(),
});
export type ClusterChange = z.infer<typeof ClusterChange>;
