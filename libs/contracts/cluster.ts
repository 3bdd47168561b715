import { z } from 'zod';
import { Facts } from './facts.js';
import { LabelSelector } from './label-selector.js';
import { ManifestValues } from './manifest-values.js';
import { Presence } from './presence.js';
import {
  ClusterId,
  ClusterName,
  EgressPorts,
  Generation,
  IsoTime,
  LabelChanges,
  Labels,
  NewLabels,
  TargetRules,
  TenantId,
} from './primitives.js';
import { Revision } from './revision.js';

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
  /** Of what was said of it: labels, and what its import manifest says. */
  revision: Revision.default(''),
});
export type Cluster = z.infer<typeof Cluster>;

export const CreateCluster = z.object({
  name: ClusterName,
  labels: NewLabels.default({}),
  links: z.int().min(1).max(4).default(2),
  targets: TargetRules.default([]),
  egress: EgressPorts.default([]),
  gitops: z.boolean().default(false),
  manifestValues: ManifestValues.default({}),
});
export type CreateCluster = z.infer<typeof CreateCluster>;

/** Of a cluster that is there. Labels count at once, all else from the next time its import manifest is applied. What is left out stays. */
export const ClusterChange = z.object({
  labels: LabelChanges.optional(),
  links: Cluster.shape.links.optional(),
  targets: TargetRules.optional(),
  egress: EgressPorts.optional(),
  gitops: z.boolean().optional(),
  /** All of them from then on: none of those before stays. */
  manifestValues: ManifestValues.optional(),
});
export type ClusterChange = z.infer<typeof ClusterChange>;

/** Which clusters of a list are meant; what is left out says nothing. */
export const ClusterFilter = z.object({
  selector: LabelSelector.optional(),
  status: Presence.shape.state.optional(),
  /** `*` stands for any part. */
  name: z
    .string()
    .regex(/^[a-z0-9*-]{1,63}$/, 'write a name, with * for any part of it, such as shop-*')
    .optional(),
});
export type ClusterFilter = z.infer<typeof ClusterFilter>;
