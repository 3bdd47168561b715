import type { Duplicate, LinkedAgent } from '@fairlead/contracts';

/**
 * What speaks against the processes that are linked as one cluster's agent being the pods of its Deployment; null: nothing. What they say of
 * themselves nobody can check: one that says nothing is not believed to belong there, and of several numbers of pods the lowest counts.
 */
export function duplicateAmong(agents: readonly Pick<LinkedAgent, 'pod'>[]): Duplicate | null {
  if (agents.length < 2) return null;
  const pods = agents.flatMap(({ pod }) => pod ?? []);
  if (pods.length < agents.length || new Set(pods.map(({ clusterUid }) => clusterUid)).size > 1) return 'elsewhere';
  if (new Set(pods.map(({ uid }) => uid)).size < pods.length) return 'same-pod';
  return agents.length > Math.min(...pods.map(({ replicas }) => replicas)) ? 'surplus' : null;
}
