import { z } from 'zod';

// As in answers.ts: only what this command shows.

const Problem = z.looseObject({ code: z.string(), message: z.string() });

export const HostKey = z.looseObject({
  type: z.string(),
  fingerprint: z.string(),
  state: z.string(),
  lastSeenAt: z.string().nullable(),
  decidedBy: z.string().nullable(),
});
export type HostKey = z.infer<typeof HostKey>;

export const GitHost = z.looseObject({
  name: z.string(),
  kind: z.string(),
  url: z.string().nullable(),
  sshHost: z.string(),
  sshPort: z.number(),
  createRepositories: z.boolean(),
  hasToken: z.boolean(),
  tokenExpiresAt: z.string().nullable(),
  checkedAt: z.string().nullable(),
  findings: z.array(z.looseObject({ verdict: z.string(), right: z.string(), why: z.string() })),
  problem: Problem.extend({ retryAt: z.string().nullable().default(null) }).nullable(),
  hostKeys: z.array(HostKey),
});
export type GitHost = z.infer<typeof GitHost>;
export const GitHostList = z.looseObject({ hosts: z.array(GitHost) });

export const CatalogRepository = z.looseObject({
  name: z.string(),
  gitHost: z.string(),
  path: z.string(),
  sshUrl: z.string(),
  defaultBranch: z.string().nullable(),
  rotateKeysEverySeconds: z.number().nullable().default(null),
});
export const CatalogList = z.looseObject({ repositories: z.array(CatalogRepository) });

export const Bundle = z.looseObject({
  tool: z.string(),
  version: z.string(),
  digest: z.string(),
  bytes: z.number(),
  objects: z.number(),
  images: z.array(z.string()),
  origin: z.string(),
  importedBy: z.string(),
  importedAt: z.string(),
});
export const BundleList = z.looseObject({ bundles: z.array(Bundle) });

export const Assignment = z.looseObject({
  name: z.string(),
  /** An older server has none. */
  revision: z.string().optional(),
  selector: z.looseObject({
    cluster: z.string().optional(),
    labels: z.record(z.string(), z.string()).optional(),
  }),
  priority: z.number(),
  tool: z.string(),
  bundleVersion: z.string(),
  repository: z.string().nullable(),
  branch: z.string().optional(),
  path: z.string(),
  intervalSeconds: z.number(),
  prune: z.boolean(),
  suspend: z.boolean(),
  selfHeal: z.string(),
  verification: z.looseObject({ type: z.string(), keys: z.array(z.looseObject({ name: z.string() })) }).nullable(),
  rollout: z.looseObject({
    waves: z.array(z.union([z.number(), z.string()])),
    soakSeconds: z.number(),
    timeoutSeconds: z.number(),
    maxFailed: z.number(),
    onFailure: z.string(),
  }),
});
export type Assignment = z.infer<typeof Assignment>;
export const AssignmentList = z.looseObject({ assignments: z.array(Assignment) });

export const Rollout = z.looseObject({
  id: z.string(),
  assignment: z.string(),
  state: z.string(),
  wave: z.number(),
  waves: z.array(z.looseObject({ clusters: z.number(), healthy: z.number(), failed: z.number(), waiting: z.number() })),
  reason: z.string().nullable(),
  startedAt: z.string(),
  endedAt: z.string().nullable(),
});
export type Rollout = z.infer<typeof Rollout>;
export const RolloutList = z.looseObject({ rollouts: z.array(Rollout), next: z.string().optional() });

export const Breaker = z.looseObject({
  state: z.string(),
  code: z.string().nullable(),
  clusters: z.number(),
  of: z.number(),
  since: z.string().nullable(),
});

const Following = z.looseObject({ ready: z.boolean().nullable(), message: z.string(), revision: z.string() });
const Preflight = z.looseObject({
  hosts: z.array(z.looseObject({ kind: z.string(), host: z.string(), code: z.string(), message: z.string() })),
});
export const ClusterGitOps = z.looseObject({
  name: z.string(),
  assignment: z.string().nullable(),
  revision: z.number(),
  wish: z
    .looseObject({
      tool: z.string(),
      bundle: z.looseObject({ version: z.string() }),
      source: z.looseObject({ url: z.string(), branch: z.string(), path: z.string() }).nullable(),
      suspend: z.boolean(),
    })
    .nullable(),
  report: z
    .looseObject({
      phase: z.string(),
      observedRevision: z.number(),
      appliedRevision: z.number(),
      problem: Problem.nullable(),
      source: Following.nullable(),
      sync: Following.nullable(),
      preflight: Preflight.optional(),
    })
    .nullable(),
  reportedAt: z.string().nullable(),
  health: z.string(),
  waitsFor: z.string().nullable(),
  deployKey: z
    .looseObject({
      repository: z.string().nullable(),
      number: z.number(),
      since: z.string().nullable(),
      nextRotationAt: z.string().nullable(),
      rotating: z.string().nullable(),
      withdrawing: z.array(z.number()),
      withdrawingFrom: z.array(z.string()).default([]),
    })
    .nullable()
    .default(null),
});
export type ClusterGitOps = z.infer<typeof ClusterGitOps>;
export const RotatedDeployKey = ClusterGitOps.extend({ alsoReplaced: z.array(z.string()).optional() });
export type RotatedDeployKey = z.infer<typeof RotatedDeployKey>;
export const ClusterGitOpsList = z.looseObject({ clusters: z.array(ClusterGitOps), next: z.string().optional() });

export const ObjectEvents = z.looseObject({
  events: z.array(z.looseObject({ at: z.string(), step: z.string(), object: z.string(), message: z.string() })),
});

export const DeployKeyList = z.looseObject({
  keys: z.array(
    z.looseObject({
      number: z.number(),
      fingerprint: z.string(),
      state: z.string(),
      instructions: z.string().nullable(),
      problem: Problem.nullable(),
    }),
  ),
});
export type DeployKeyList = z.infer<typeof DeployKeyList>;
