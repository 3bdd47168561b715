/** What is desired of each cluster's GitOps tool, and how the fleet is brought to it (docs/adr/0026-gitops-by-signed-desired-state.md). */
import { OutboxRow } from '@fairlead/events';
import * as entities from './store/entities.js';

export { countHealth, meterConvergence } from './feature/meter-convergence.js';
export { GITOPS_MIGRATIONS } from './store/migrations.js';
export type { Runtime } from './feature/runtime.js';
export { GITOPS_BUCKETS, startGitops, type GitopsOptions, type StartedGitops } from './feature/start-gitops.js';

export const GITOPS_ENTITIES = [...Object.values(entities), OutboxRow];
