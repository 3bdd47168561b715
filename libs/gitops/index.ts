/** What is wanted of each cluster's GitOps tool, and how the fleet is brought to it (docs/adr/0026-gitops-by-signed-desired-state.md). */
import { OutboxRow } from '@fairlead/events';
import { AssignmentRow, BundleRow, ClusterRow, RepositoryRow, UploadRow } from './store/entities.js';
import { BreakerRow, RolloutRow } from './store/rollout-entities.js';

export { GITOPS_MIGRATIONS } from './store/migrations.js';
export { GITOPS_BUCKETS } from './feature/projected-buckets.js';
export { GitopsModule, type GitopsParts } from './feature/gitops.module.js';
export type { Runtime } from './feature/runtime.js';
export { startGitops, type GitopsOptions, type StartedGitops } from './feature/start-gitops.js';

export const GITOPS_ENTITIES = [
  AssignmentRow,
  BreakerRow,
  BundleRow,
  ClusterRow,
  OutboxRow,
  RepositoryRow,
  RolloutRow,
  UploadRow,
];
