import { BundleLimits, InstallerReport, ObjectEvent, Tool } from '@fairlead/desired-state';
import { z } from 'zod';
import { GitHostName } from './git-keys.js';
import { RepositoryPath } from './git-primitives.js';
import {
  Assignment,
  Breaker,
  Bundle,
  CatalogRepository,
  ClusterGitOps,
  GitOpsName,
  KeyRotationPeriod,
  KeyRotationReason,
  Rollout,
  RotatedDeployKey,
  ShownAssignment,
} from './gitops.js';
import { UuidPlace } from './place.js';
import { ClusterId, ClusterName, UserName } from './primitives.js';
import { ifRevision } from './revision.js';
import { rpcOf } from './rpc.js';

const rpc = rpcOf('gitops');

const actor = { actor: UserName };
const ByLabel = z.object({ name: GitOpsName });
const digest = z.string().regex(/^[0-9a-f]{64}$/);

/** What the gitops service answers. */
export const gitopsRpc = {
  /** Finds it on its Git host, or makes it there if `create`. */
  addRepository: rpc(
    'add-repository',
    ['api'],
    z.object({
      name: GitOpsName,
      gitHost: GitHostName,
      path: RepositoryPath,
      create: z.boolean().default(false),
      /** Null: never. Absent: as it is; of a new one, 90 days where deploy keys are added by the Git host's API, else never. */
      rotateKeysEverySeconds: KeyRotationPeriod.nullable().optional(),
      ...actor,
    }),
    CatalogRepository,
    80_000,
  ),
  listRepositories: rpc(
    'list-repositories',
    ['api'],
    z.object({}),
    z.object({ repositories: z.array(CatalogRepository).max(500) }),
  ),
  /** CONFLICT while an assignment names it. */
  removeRepository: rpc('remove-repository', ['api'], ByLabel.extend(actor), z.object({})),

  /** A bundle arrives in pieces: `begin` (which refuses what is too large), `piece` in order, `finish`, which checks digest and contents. */
  beginBundle: rpc(
    'begin-bundle',
    ['api'],
    z.object({
      tool: Tool,
      version: Bundle.shape.version,
      bytes: z.int().min(1).max(BundleLimits.maxBytes),
      digest,
      origin: z.string().max(1_024),
      ...actor,
    }),
    z.object({ uploadId: z.uuid() }),
  ),
  bundlePiece: rpc(
    'bundle-piece',
    ['api'],
    z.object({ uploadId: z.uuid(), offset: z.int().min(0), piece: z.base64().max(400_000) }),
    z.object({}),
  ),
  /**
   * INVALID_ARGUMENT: not the digest, not YAML, no install manifest of this tool. ALREADY_EXISTS: this version with other contents.
   * RATE_LIMITED: the same again, later; what arrived stays.
   */
  finishBundle: rpc('finish-bundle', ['api'], z.object({ uploadId: z.uuid() }), Bundle, 40_000),
  /** What arrived of it is forgotten, and somebody else may begin. Again, or when it is not there any more: no change. */
  cancelBundle: rpc('cancel-bundle', ['api'], z.object({ uploadId: z.uuid() }), z.object({})),
  /** `gitops` fetches it itself, https only, from a public address unless the configuration allows others. */
  importBundleUrl: rpc(
    'import-bundle-url',
    ['api'],
    z.object({
      tool: Tool,
      version: Bundle.shape.version,
      url: z.url({ protocol: /^https$/ }).max(1_024),
      digest,
      ...actor,
    }),
    Bundle,
    95_000,
  ),
  listBundles: rpc('list-bundles', ['api'], z.object({}), z.object({ bundles: z.array(Bundle).max(500) })),
  /** CONFLICT while an assignment or a running rollout needs it. */
  removeBundle: rpc(
    'remove-bundle',
    ['api'],
    z.object({ tool: Tool, version: Bundle.shape.version, ...actor }),
    z.object({}),
  ),
  /** A piece of a bundle for an agent, gzip. NOT_FOUND unless this cluster's desired state names the digest. */
  bundleChunk: rpc(
    'bundle-chunk',
    ['gateway'],
    z.object({ clusterId: ClusterId, digest, offset: z.int().min(0) }),
    z.object({ piece: z.base64().max(200_000), compressedBytes: z.int().min(1) }),
  ),

  /** Makes or changes one; a change is rolled out. NOT_FOUND: a bundle, repository or cluster that is not there. */
  putAssignment: rpc('put-assignment', ['api'], Assignment.extend({ ...actor, ...ifRevision }), ShownAssignment),
  listAssignments: rpc(
    'list-assignments',
    ['api'],
    z.object({}),
    z.object({ assignments: z.array(ShownAssignment).max(500) }),
  ),
  /** What happens in the clusters that nothing else selects: see `remove` of the desired state. */
  removeAssignment: rpc(
    'remove-assignment',
    ['api'],
    ByLabel.extend({ remove: z.enum(['keep', 'tool', 'everything']).default('keep'), ...actor, ...ifRevision }),
    z.object({}),
  ),

  /** Newest first, as many as fit in one answer; `next` is there if there are more: pass it as `after`. */
  listRollouts: rpc(
    'list-rollouts',
    ['api'],
    z.object({ after: UuidPlace.optional() }),
    z.object({ rollouts: z.array(Rollout).max(200), next: UuidPlace.optional() }),
  ),
  steerRollout: rpc(
    'steer-rollout',
    ['api'],
    z.object({ id: z.uuid(), step: z.enum(['pause', 'resume', 'abort', 'roll-back']), ...actor }),
    Rollout,
  ),
  breaker: rpc('breaker', ['api'], z.object({}), Breaker),
  /** Closes it, and lets go on what it held. */
  resetBreaker: rpc('reset-breaker', ['api'], z.object(actor), Breaker),

  clusterStatus: rpc('cluster-status', ['api'], z.object({ name: ClusterName }), ClusterGitOps),
  listClusterStatus: rpc(
    'list-cluster-status',
    ['api'],
    z.object({ after: ClusterName.optional() }),
    z.object({ clusters: z.array(ClusterGitOps).max(200), next: ClusterName.optional() }),
  ),
  /** The newest 200 of a cluster's history of repairs. */
  clusterEvents: rpc(
    'cluster-events',
    ['api'],
    z.object({ name: ClusterName }),
    z.object({ events: z.array(ObjectEvent).max(200) }),
  ),
  /**
   * A new deploy key, tried before the old one goes; of a `compromise`, all that the cluster had are withdrawn first, wherever else they
   * are used, and what is followed by them is held until the new one is there; of a deleted cluster, too. CONFLICT: nothing is followed, or
   * (on `demand`) a rotation is under way.
   */
  rotateDeployKey: rpc(
    'rotate-deploy-key',
    ['api'],
    z.object({ name: ClusterName, reason: KeyRotationReason.exclude(['schedule']).default('demand'), ...actor }),
    RotatedDeployKey,
  ),

  /** What an installer said, through its agent and this gateway. The gateway takes the cluster from the link, not from the report. */
  reportCluster: rpc(
    'report-cluster',
    ['gateway'],
    z.object({ clusterId: ClusterId, report: InstallerReport }),
    z.object({}),
  ),
} as const;
