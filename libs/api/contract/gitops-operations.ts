import {
  Assignment as AssignmentSpec,
  Breaker,
  ClusterGitOps,
  ClusterName,
  Rollout,
  RotatedDeployKey,
  ShownAssignment as Assignment,
  gitopsRpc,
} from '@fairlead/contracts';
import { ObjectEvent } from '@fairlead/desired-state';
import { z } from 'zod';
import { CatalogByName } from './catalog-operations.js';
import type { Operation } from './operation.js';
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
export const AssignmentRemoval = z.strictObject({
  remove: gitopsRpc.removeAssignment.input.shape.remove.describe(
    'What happens in the clusters that nothing else selects: everything stays, the tool goes, or all that it deployed goes first.',
  ),
});
export const RolloutById = z.strictObject({ id: z.uuid() });
export const RolloutList = z.object({ rollouts: z.array(Rollout).max(200).describe('Newest first.') });
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
export const KeyRotation = z.strictObject({
  reason: gitopsRpc.rotateDeployKey.input.shape.reason.describe(
    'On demand, the next key is tried before the old one goes. After a compromise the old one goes first, and what is followed is held until the next one is there.',
  ),
});
export type ClusterGitOpsEvents = z.infer<typeof ClusterGitOpsEvents>;

const NO_ASSIGNMENT = 'see which there are: fairlead gitops list';
const CHANGED_MEANWHILE = 'see what it is now, with fairlead gitops show NAME; then do it again, on top of that';

/** What the admin API can do about what clusters are to run. */
export const gitopsOperations = {
  listAssignments: {
    id: 'listAssignments',
    method: 'GET',
    path: '/v1/gitops/assignments',
    tag: 'gitops',
    summary: 'List the assignments',
    auth: 'bearer',
    answers: [{ kind: 'json', status: 200, description: 'All of them.', schema: AssignmentList }],
    errors: [],
  },
  getAssignment: {
    id: 'getAssignment',
    method: 'GET',
    path: '/v1/gitops/assignments/{name}',
    tag: 'gitops',
    summary: 'Show an assignment',
    auth: 'bearer',
    params: CatalogByName,
    etag: true,
    answers: [{ kind: 'json', status: 200, description: 'The assignment.', schema: Assignment }],
    errors: ['NOT_FOUND'],
    next: { NOT_FOUND: NO_ASSIGNMENT },
  },
  putAssignment: {
    id: 'putAssignment',
    method: 'PUT',
    path: '/v1/gitops/assignments/{name}',
    tag: 'gitops',
    summary: 'Make or change an assignment',
    description:
      'A change is rolled out in waves; look at /v1/gitops/rollouts. Who changes what they have read sends its ETag, so that nobody’s change is lost.',
    auth: 'bearer',
    params: CatalogByName,
    body: AssignmentToPut,
    etag: true,
    conditional: true,
    answers: [{ kind: 'json', status: 200, description: 'The assignment after it.', schema: Assignment }],
    errors: ['NOT_FOUND', 'CONFLICT', 'REVISION_CONFLICT', 'TOO_LARGE', 'DEADLINE_EXCEEDED'],
    next: {
      REVISION_CONFLICT: CHANGED_MEANWHILE,
      NOT_FOUND: 'see what there is: fairlead bundle list, fairlead catalog list, fairlead cluster list',
      CONFLICT: 'see what is under way: fairlead rollout list',
      TOO_LARGE: 'make it smaller: fewer or shorter keys for verification',
    },
  },
  removeAssignment: {
    id: 'removeAssignment',
    method: 'DELETE',
    path: '/v1/gitops/assignments/{name}',
    tag: 'gitops',
    summary: 'Remove an assignment',
    auth: 'bearer',
    params: CatalogByName,
    query: AssignmentRemoval,
    conditional: true,
    answers: [{ kind: 'empty', status: 204, description: 'Removed.' }],
    errors: ['NOT_FOUND', 'CONFLICT', 'REVISION_CONFLICT', 'DEADLINE_EXCEEDED'],
    next: { NOT_FOUND: NO_ASSIGNMENT, REVISION_CONFLICT: CHANGED_MEANWHILE },
  },
  listRollouts: {
    id: 'listRollouts',
    method: 'GET',
    path: '/v1/gitops/rollouts',
    tag: 'gitops',
    summary: 'List the rollouts',
    auth: 'bearer',
    answers: [{ kind: 'json', status: 200, description: 'The newest 200.', schema: RolloutList }],
    errors: [],
  },
  steerRollout: {
    id: 'steerRollout',
    method: 'POST',
    path: '/v1/gitops/rollouts/{id}/steps',
    tag: 'gitops',
    summary: 'Pause, resume, abort or roll back a rollout',
    auth: 'bearer',
    params: RolloutById,
    body: RolloutStep,
    answers: [{ kind: 'json', status: 200, description: 'The rollout after it.', schema: Rollout }],
    errors: ['NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
    next: {
      NOT_FOUND: 'see which there are: fairlead rollout list',
      CONFLICT: 'see how far it is: fairlead rollout list',
    },
  },
  getBreaker: {
    id: 'getBreaker',
    method: 'GET',
    path: '/v1/gitops/breaker',
    tag: 'gitops',
    summary: 'Tell whether repairs and rollouts of the fleet are held',
    auth: 'bearer',
    answers: [{ kind: 'json', status: 200, description: 'The breaker.', schema: Breaker }],
    errors: [],
  },
  resetBreaker: {
    id: 'resetBreaker',
    method: 'POST',
    path: '/v1/gitops/breaker/reset',
    tag: 'gitops',
    summary: 'Close the breaker, and let go on what it held',
    auth: 'bearer',
    answers: [{ kind: 'json', status: 200, description: 'The breaker after it.', schema: Breaker }],
    errors: ['DEADLINE_EXCEEDED'],
  },
  listClusterGitOps: {
    id: 'listClusterGitOps',
    method: 'GET',
    path: '/v1/gitops/clusters',
    tag: 'gitops',
    summary: 'List what is wanted of the clusters, and how they are',
    description: 'As many as fit in one answer; `next` is there if there are more.',
    auth: 'bearer',
    query: ClusterPage,
    answers: [{ kind: 'json', status: 200, description: 'Clusters by name.', schema: ClusterGitOpsList }],
    errors: [],
  },
  getClusterGitOps: {
    id: 'getClusterGitOps',
    method: 'GET',
    path: '/v1/clusters/{name}/gitops',
    tag: 'gitops',
    summary: 'Tell what is wanted of a cluster, and how it is',
    auth: 'bearer',
    params: ClusterByName,
    answers: [{ kind: 'json', status: 200, description: 'The cluster.', schema: ClusterGitOps }],
    errors: ['NOT_FOUND'],
  },
  getClusterGitOpsEvents: {
    id: 'getClusterGitOpsEvents',
    method: 'GET',
    path: '/v1/clusters/{name}/gitops/events',
    tag: 'gitops',
    summary: 'Tell what the installer of a cluster did',
    auth: 'bearer',
    params: ClusterByName,
    answers: [{ kind: 'json', status: 200, description: 'Its story.', schema: ClusterGitOpsEvents }],
    errors: ['NOT_FOUND'],
  },
  rotateDeployKey: {
    id: 'rotateDeployKey',
    method: 'POST',
    path: '/v1/clusters/{name}/gitops/deploy-key-rotation',
    tag: 'gitops',
    summary: 'Replace the deploy key of a cluster',
    description:
      'The next key is tried before the old one goes: no fetch fails for it. With `reason=compromise` the old one is withdrawn at once, wherever else it is used; of a cluster that was deleted, too.',
    auth: 'bearer',
    params: ClusterByName,
    query: KeyRotation,
    answers: [{ kind: 'json', status: 200, description: 'The cluster.', schema: RotatedDeployKey }],
    errors: ['NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
  },
} as const satisfies Record<string, Operation>;
