import { z } from 'zod';
import { CatalogSource, GitOpsSpec, InstallerReport, Tool } from '@fairlead/desired-state';
import { GitHostName } from './git-keys.js';
import { BranchName, RepositoryPath } from './git-primitives.js';
import { ClusterId, ClusterName, IsoTime, Labels, UserName } from './primitives.js';

export const GitOpsName = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'a name is 1 to 63 lower-case letters, digits and dashes');

/** By what a cluster gets another deploy key. `compromise`: the old one is withdrawn first. */
export const KeyRotationReason = z.enum(['demand', 'schedule', 'compromise']);
export type KeyRotationReason = z.infer<typeof KeyRotationReason>;

/** A day to two years. */
export const KeyRotationPeriod = z.int().min(86_400).max(63_072_000);

/** A repository that clusters follow. */
export const CatalogRepository = z.object({
  id: z.uuid(),
  name: GitOpsName,
  gitHost: GitHostName,
  path: RepositoryPath,
  sshUrl: z.string().max(1_024),
  defaultBranch: z.string().max(200).nullable(),
  /** Deploy keys of clusters that follow it are replaced when they are so old; null: by no schedule. */
  rotateKeysEverySeconds: z.int().nullable(),
  createdAt: IsoTime,
});
export type CatalogRepository = z.infer<typeof CatalogRepository>;

/** An install manifest that was imported. */
export const Bundle = z.object({
  id: z.uuid(),
  tool: Tool,
  version: GitOpsSpec.shape.bundle.shape.version,
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
const HostAndPort = z
  .string()
  .max(259)
  .regex(
    /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?:([1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5])$/,
    'write HOST:PORT, such as fairlead-egress.fairlead-system.svc:2222',
  );

/** The name of a Service in a cluster: `NAME.NAMESPACE.svc`, with or without the usual cluster domain. */
export const CLUSTER_SERVICE = /^[a-z0-9-]+\.[a-z0-9-]+\.svc(\.cluster\.local)?$/;

/** Whose signatures each tool can verify. What it cannot verify is not desired of it: it would follow nothing. */
export const VERIFIED_BY: Readonly<
  Record<Tool, readonly NonNullable<z.infer<typeof CatalogSource.shape.verification>>['type'][]>
> = { flux: ['gpg'], argocd: ['gpg'] };

/** What is desired of the clusters that it selects. */
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
   * same ones, pinned under this address. The Git host's own name with any port, or a `CLUSTER_SERVICE`: `keys` signs no other.
   */
  gitThrough: HostAndPort.optional(),
  /** May hold `{cluster}`: the cluster's name. */
  path: z.string().min(1).max(256).default('clusters/{cluster}'),
  intervalSeconds: CatalogSource.shape.intervalSeconds,
  prune: CatalogSource.shape.prune,
  verification: CatalogSource.shape.verification,
  images: GitOpsSpec.shape.images.prefault({}),
  suspend: GitOpsSpec.shape.suspend,
  selfHeal: GitOpsSpec.shape.selfHeal,
  lockdown: GitOpsSpec.shape.lockdown,
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

/** As it is shown. `revision` names what it says, and changes with it: whoever changes an assignment can tell which one they have seen. */
export const ShownAssignment = Assignment.extend({ revision: z.string().regex(/^[0-9a-f]{32}$/) });
export type ShownAssignment = z.infer<typeof ShownAssignment>;

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

/** The SSH key that a cluster follows its repository with. */
export const ClusterDeployKey = z.object({
  /** Null: it was forgotten. */
  repository: GitOpsName.nullable(),
  number: z.int().min(1),
  /** Since when the Git host has it; null: not yet, or only somebody by hand can say. */
  since: IsoTime.nullable(),
  /** When a schedule has it replaced, if nothing stands in the way then; null: none does. */
  nextRotationAt: IsoTime.nullable(),
  /** The rotation that is under way. */
  rotating: KeyRotationReason.nullable(),
  /** Numbers of keys that are still to be withdrawn. */
  withdrawing: z.array(z.int().min(1)).max(64),
  /** The repositories that they are still to leave. */
  withdrawingFrom: z.array(GitOpsName).max(64).default([]),
});
export type ClusterDeployKey = z.infer<typeof ClusterDeployKey>;

/** Of one cluster: what is desired, and what its installer says. */
export const ClusterGitOps = z.object({
  clusterId: ClusterId,
  name: ClusterName,
  assignment: GitOpsName.nullable(),
  revision: z.int().min(0),
  wish: GitOpsSpec.nullable(),
  /** Null: its installer has not reported yet. */
  report: InstallerReport.omit({ events: true }).nullable(),
  reportedAt: IsoTime.nullable(),
  /** `unknown`: no report, or none for long. `drifted`: another revision than desired, or `degraded`. */
  health: z.enum(['unassigned', 'unknown', 'progressing', 'healthy', 'drifted', 'failed']),
  /** What somebody has to do, if it waits for a person: approve host keys, add a deploy key by hand. */
  waitsFor: z.string().max(1_024).nullable(),
  /** Null: it follows no repository, and has left none. */
  deployKey: ClusterDeployKey.nullable(),
});
export type ClusterGitOps = z.infer<typeof ClusterGitOps>;

/** A cluster whose deploy key is being replaced. */
export const RotatedDeployKey = ClusterGitOps.extend({
  /** After a compromise: others that had the same key, of which theirs is replaced, too. */
  alsoReplaced: z.array(ClusterName).max(64).optional(),
});
export type RotatedDeployKey = z.infer<typeof RotatedDeployKey>;
