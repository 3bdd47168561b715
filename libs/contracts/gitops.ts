import { z } from 'zod';
import { CatalogSource, GitOpsWish, InstallerReport, Tool } from '@fairlead/desired-state';
import { GitHostName } from './git-keys.js';
import { BranchName, RepositoryPath } from './git-primitives.js';
import { ClusterId, ClusterName, IsoTime, Labels, UserName } from './primitives.js';

export const GitOpsName = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'a name is 1 to 63 lower-case letters, digits and dashes');

/** A repository that clusters follow. */
export const CatalogRepository = z.object({
  id: z.uuid(),
  name: GitOpsName,
  gitHost: GitHostName,
  path: RepositoryPath,
  sshUrl: z.string().max(1_024),
  defaultBranch: z.string().max(200).nullable(),
  createdAt: IsoTime,
});
export type CatalogRepository = z.infer<typeof CatalogRepository>;

/** An install manifest that was imported. */
export const Bundle = z.object({
  id: z.uuid(),
  tool: Tool,
  version: GitOpsWish.shape.bundle.shape.version,
  digest: z.string().length(64),
  bytes: z.int().min(1),
  compressedBytes: z.int().min(1),
  objects: z.int().min(1),
  /** Images that its workloads pull. */
  images: z.array(z.string().max(512)).max(64),
  /** File name as its importer said, or the URL without query and fragment, which may be secrets. */
  origin: z.string().max(1_024),
  importedBy: UserName,
  importedAt: IsoTime,
});
export type Bundle = z.infer<typeof Bundle>;

/** `fairlead-egress.fairlead-system.svc:2222`. */
export const HostAndPort = z
  .string()
  .max(259)
  .regex(
    /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?:([1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5])$/,
    'write HOST:PORT, such as fairlead-egress.fairlead-system.svc:2222',
  );

/** What is wanted of the clusters that it selects. */
export const Assignment = z.object({
  name: GitOpsName,
  /** One cluster, or all that have these labels; the one with the highest priority counts, then the more exact selector. */
  selector: z.union([
    z.object({ cluster: ClusterName }),
    z.object({ labels: Labels.refine((labels) => Object.keys(labels).length > 0, 'select by at least one label') }),
  ]),
  priority: z.int().min(0).max(1_000).default(100),
  tool: Tool,
  /** Of a bundle of this tool. */
  bundleVersion: z.string().min(1).max(64),
  repository: GitOpsName.nullable(),
  branch: BranchName.optional(),
  /**
   * Where these clusters dial the Git host, if not at its own address: the Service of their agents that leads to it. Its keys are the
   * same ones, pinned under this address. `NAME.NAMESPACE.svc`, with or without `.cluster.local`: `keys` signs no other.
   */
  gitThrough: HostAndPort.optional(),
  /** May hold `{cluster}`: the cluster's name. */
  path: z.string().min(1).max(256).default('clusters/{cluster}'),
  intervalSeconds: CatalogSource.shape.intervalSeconds,
  prune: CatalogSource.shape.prune,
  verification: CatalogSource.shape.verification,
  images: GitOpsWish.shape.images.prefault({}),
  suspend: GitOpsWish.shape.suspend,
  selfHeal: GitOpsWish.shape.selfHeal,
  lockdown: GitOpsWish.shape.lockdown,
  /** How a change of the assignment reaches its clusters. */
  rollout: z
    .object({
      /** Sizes of the waves: a number of clusters, or a share of all; the last wave is the rest. */
      waves: z
        .array(z.union([z.int().min(1).max(100_000), z.string().regex(/^([1-9]\d?|100)%$/)]))
        .max(10)
        .default([1, '10%', '50%']),
      /** A wave is good when all its clusters have been healthy with the new state for so long. */
      soakSeconds: z.int().min(0).max(86_400).default(60),
      /** Not healthy after so long: it failed. */
      timeoutSeconds: z.int().min(10).max(86_400).default(900),
      /** So many failed clusters in a wave are borne. */
      maxFailed: z.int().min(0).max(1_000).default(0),
      onFailure: z.enum(['pause', 'roll-back']).default('roll-back'),
    })
    .prefault({}),
});
export type Assignment = z.infer<typeof Assignment>;

export const Rollout = z.object({
  id: z.uuid(),
  assignment: GitOpsName,
  state: z.enum(['running', 'paused', 'held-by-breaker', 'rolling-back', 'done', 'rolled-back', 'aborted']),
  wave: z.int().min(0),
  waves: z.array(z.object({ clusters: z.int(), healthy: z.int(), failed: z.int(), waiting: z.int() })).max(11),
  reason: z.string().max(1_024).nullable(),
  startedAt: IsoTime,
  endedAt: IsoTime.nullable(),
});
export type Rollout = z.infer<typeof Rollout>;

/** Repairs and rollouts of the whole fleet are held while it is open. */
export const Breaker = z.object({
  state: z.enum(['closed', 'open']),
  /** The problem that many clusters have alike. */
  code: z.string().max(64).nullable(),
  clusters: z.int().min(0),
  of: z.int().min(0),
  since: IsoTime.nullable(),
});
export type Breaker = z.infer<typeof Breaker>;

/** Of one cluster: what is wanted, and what its installer says. */
export const ClusterGitOps = z.object({
  clusterId: ClusterId,
  name: ClusterName,
  assignment: GitOpsName.nullable(),
  revision: z.int().min(0),
  wish: GitOpsWish.nullable(),
  /** Null: its installer has not reported yet. */
  report: InstallerReport.omit({ events: true }).nullable(),
  reportedAt: IsoTime.nullable(),
  /** `unknown`: no report, or none for long. `drifted`: another revision than wanted, or `degraded`. */
  health: z.enum(['unassigned', 'unknown', 'progressing', 'healthy', 'drifted', 'failed']),
  /** What somebody has to do, if it waits for a person: approve host keys, add a deploy key by hand. */
  waitsFor: z.string().max(1_024).nullable(),
});
export type ClusterGitOps = z.infer<typeof ClusterGitOps>;
