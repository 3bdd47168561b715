import { ClusterId, ClusterName, GitHostName, GitOpsName, KeyRotationReason, Rollout } from '@fairlead/contracts';
import { z } from 'zod';
import { event } from './event-shape.js';

const tool = z.enum(['flux', 'argocd']);
const repository = { repositoryId: z.uuid(), name: GitOpsName };
const bundle = { tool, version: z.string().max(64), digest: z.string().length(64) };
const cluster = { clusterId: ClusterId, name: ClusterName };
const rollout = { rolloutId: z.uuid(), assignment: GitOpsName };

/** What the gitops service tells. Subjects: `repository/<id>`, `bundle/<digest>`, `assignment/<name>`, `rollout/<id>`, `cluster/<id>`. */
export const GITOPS_EVENTS = {
  'dev.fairlead.catalog-repository.added.v1': event({
    ...repository,
    gitHost: GitHostName,
    path: z.string().max(512),
    /** It was made on its Git host. */
    created: z.boolean(),
    rotateKeysEverySeconds: z.int().nullable(),
  }),
  'dev.fairlead.catalog-repository.changed.v1': event({
    ...repository,
    rotateKeysEverySeconds: z.int().nullable(),
  }),
  'dev.fairlead.catalog-repository.removed.v1': event(repository),
  'dev.fairlead.bundle.imported.v1': event({ ...bundle, origin: z.string().max(1_024), bytes: z.int().min(1) }),
  'dev.fairlead.bundle.removed.v1': event(bundle),
  'dev.fairlead.assignment.put.v1': event({
    name: GitOpsName,
    version: z.int().min(1),
    tool,
    bundleVersion: z.string().max(64),
    repository: GitOpsName.nullable(),
  }),
  'dev.fairlead.assignment.removed.v1': event({
    name: GitOpsName,
    remove: z.enum(['keep', 'tool', 'everything']),
  }),
  /** A cluster's installer is to do something else from now on. */
  'dev.fairlead.desired-state.changed.v1': event({
    ...cluster,
    revision: z.int().min(1),
    assignment: GitOpsName.nullable(),
  }),
  'dev.fairlead.deploy-key.rotated.v1': event({
    ...cluster,
    number: z.int().min(1),
    /** `begun`: the cluster makes another key. `switched`: it is used from now on, and the old one goes, if it is not gone yet. */
    step: z.enum(['begun', 'switched']),
    why: KeyRotationReason,
  }),
  /** As its installer says. */
  'dev.fairlead.gitops.phase-changed.v1': event({
    ...cluster,
    phase: z.string().max(32),
    problem: z.string().max(64).nullable(),
  }),
  'dev.fairlead.rollout.changed.v1': event({
    ...rollout,
    state: Rollout.shape.state,
    wave: z.int().min(0),
    why: z.string().max(1_024).nullable(),
  }),
  'dev.fairlead.breaker.changed.v1': event({
    state: z.enum(['open', 'closed']),
    code: z.string().max(64).nullable(),
    clusters: z.int().min(0),
    of: z.int().min(0),
  }),
} as const;
