import {
  Assignment as AssignmentSpec,
  Breaker,
  ClusterGitOps,
  ClusterName,
  Rollout,
  RotatedDeployKey,
  ShownAssignment as Assignment,
  UuidPlace,
  gitopsRpc,
} from '@fairlead/contracts';
import { ObjectEvent } from '@fairlead/desired-state';
import { z } from 'zod';
import { CatalogByName } from './catalog-operations.js';
import { empty, json, operationsOf } from './operation.js';
import { ClusterByName, ClusterPage } from './schemas.js';

export { Assignment, Breaker, ClusterGitOps, Rollout, RotatedDeployKey };

const [ofOne, ofLabels] = AssignmentSpec.shape.selector.options;
/** An unknown field is refused inside of it as well: a wave that is misspelt would be a rollout at once. */
export const AssignmentToPut = AssignmentSpec.omit({ name: true })
  .extend({
    selector: z.union([ofOne.strict(), ofLabels.strict()]),
    rollout: AssignmentSpec.shape.rollout.unwrap().strict().prefault({}),
  })
  .strict()
  .describe('What is wanted of the clusters that it selects. A change reaches them in waves.');
export const AssignmentList = z.object({ assignments: z.array(Assignment).max(500) });
export type AssignmentList = z.infer<typeof AssignmentList>;
const AssignmentRemoval = z.strictObject({
  remove: gitopsRpc.removeAssignment.input.shape.remove.describe(
    'What happens in the clusters that nothing else selects: everything stays, the tool goes, or all that it deployed goes first.',
  ),
});
const RolloutById = z.strictObject({ id: z.uuid() });
const RolloutPage = z.strictObject({ after: UuidPlace.optional() });
export const RolloutList = z.object({
  rollouts: z.array(Rollout).max(200).describe('Newest first.'),
  next: UuidPlace.optional().describe('There are more: ask again with it as `after`.'),
});
export type RolloutList = z.infer<typeof RolloutList>;
export const RolloutStep = z
  .strictObject({ step: gitopsRpc.steerRollout.input.shape.step })
  .describe('What is to become of a rollout.');
export const ClusterGitOpsList = z.object({
  clusters: z.array(ClusterGitOps).max(200).describe('By name.'),
  next: ClusterName.optional().describe('There are more: ask again with it as `after`.'),
});
export type ClusterGitOpsList = z.infer<typeof ClusterGitOpsList>;
export const ClusterGitOpsEvents = z.object({ events: z.array(ObjectEvent).max(200).describe('The newest 200.') });
const KeyRotation = z.strictObject({
  reason: gitopsRpc.rotateDeployKey.input.shape.reason.describe(
    'On demand, the next key is tried before the old one goes. After a compromise the old one goes first, and what is followed is held until the next one is there.',
  ),
});
export type ClusterGitOpsEvents = z.infer<typeof ClusterGitOpsEvents>;

const NO_ASSIGNMENT = 'see which there are: fairlead gitops list';
const CHANGED_MEANWHILE = 'see what it is now, with fairlead gitops show NAME; then do it again, on top of that';

/** What the admin API can do about what clusters are to run. */
export const gitopsOperations = operationsOf('gitops', {
  listAssignments: {
    route: 'GET /v1/gitops/assignments',
    summary: 'List the assignments',
    answers: [json(200, 'All of them.', AssignmentList)],
  },
  getAssignment: {
    route: 'GET /v1/gitops/assignments/{name}',
    summary: 'Show an assignment',
    params: CatalogByName,
    etag: true,
    answers: [json(200, 'The assignment.', Assignment)],
    errors: ['NOT_FOUND'],
    next: { NOT_FOUND: NO_ASSIGNMENT },
  },
  putAssignment: {
    route: 'PUT /v1/gitops/assignments/{name}',
    summary: 'Make or change an assignment',
    description:
      'A change is rolled out in waves; look at /v1/gitops/rollouts. Who changes what they have read sends its ETag, so that nobody’s change is lost.',
    params: CatalogByName,
    body: AssignmentToPut,
    etag: true,
    conditional: true,
    answers: [json(200, 'The assignment after it.', Assignment)],
    errors: ['NOT_FOUND', 'CONFLICT', 'REVISION_CONFLICT', 'TOO_LARGE', 'DEADLINE_EXCEEDED'],
    next: {
      REVISION_CONFLICT: CHANGED_MEANWHILE,
      NOT_FOUND: 'see what there is: fairlead bundle list, fairlead catalog list, fairlead cluster list',
      CONFLICT: 'see what is under way: fairlead rollout list',
      TOO_LARGE: 'make it smaller: fewer or shorter keys for verification',
    },
  },
  removeAssignment: {
    route: 'DELETE /v1/gitops/assignments/{name}',
    summary: 'Remove an assignment',
    params: CatalogByName,
    query: AssignmentRemoval,
    conditional: true,
    answers: [empty('Removed.')],
    errors: ['NOT_FOUND', 'CONFLICT', 'REVISION_CONFLICT', 'DEADLINE_EXCEEDED'],
    next: { NOT_FOUND: NO_ASSIGNMENT, REVISION_CONFLICT: CHANGED_MEANWHILE },
  },
  listRollouts: {
    route: 'GET /v1/gitops/rollouts',
    summary: 'List the rollouts',
    description: 'The newest 100 of the tenant are kept, and all that have not ended.',
    query: RolloutPage,
    answers: [json(200, 'Newest first.', RolloutList)],
  },
  steerRollout: {
    route: 'POST /v1/gitops/rollouts/{id}/steps',
    summary: 'Pause, resume, abort or roll back a rollout',
    params: RolloutById,
    body: RolloutStep,
    answers: [json(200, 'The rollout after it.', Rollout)],
    errors: ['NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
    next: {
      NOT_FOUND: 'see which there are: fairlead rollout list',
      CONFLICT: 'see how far it is: fairlead rollout list',
    },
  },
  getBreaker: {
    route: 'GET /v1/gitops/breaker',
    summary: 'Tell whether repairs and rollouts of the fleet are held',
    answers: [json(200, 'The breaker.', Breaker)],
  },
  resetBreaker: {
    route: 'POST /v1/gitops/breaker/reset',
    summary: 'Close the breaker, and let go on what it held',
    answers: [json(200, 'The breaker after it.', Breaker)],
    errors: ['DEADLINE_EXCEEDED'],
  },
  listClusterGitOps: {
    route: 'GET /v1/gitops/clusters',
    summary: 'List what is wanted of the clusters, and how they are',
    description: 'As many as fit in one answer; `next` is there if there are more.',
    query: ClusterPage,
    answers: [json(200, 'Clusters by name.', ClusterGitOpsList)],
  },
  getClusterGitOps: {
    route: 'GET /v1/clusters/{name}/gitops',
    summary: 'Tell what is wanted of a cluster, and how it is',
    params: ClusterByName,
    answers: [json(200, 'The cluster.', ClusterGitOps)],
    errors: ['NOT_FOUND'],
  },
  getClusterGitOpsEvents: {
    route: 'GET /v1/clusters/{name}/gitops/events',
    summary: 'Tell what the installer of a cluster did',
    params: ClusterByName,
    answers: [json(200, 'Its story.', ClusterGitOpsEvents)],
    errors: ['NOT_FOUND'],
  },
  rotateDeployKey: {
    route: 'POST /v1/clusters/{name}/gitops/deploy-key-rotation',
    summary: 'Replace the deploy key of a cluster',
    description:
      'The next key is tried before the old one goes: no fetch fails for it. With `reason=compromise` the old one is withdrawn at once, wherever else it is used; of a cluster that was deleted, too.',
    params: ClusterByName,
    query: KeyRotation,
    answers: [json(200, 'The cluster.', RotatedDeployKey)],
    errors: ['NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
  },
});
