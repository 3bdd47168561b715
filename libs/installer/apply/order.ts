import type { KubeObject } from '@fairlead/kube/rest';

/** What has to be there before what: one stage is applied as a whole before the next begins. */
const STAGES: readonly ReadonlySet<string>[] = [
  new Set(['CustomResourceDefinition']),
  new Set(['Namespace']),
  new Set(['ServiceAccount', 'ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding', 'PriorityClass']),
  new Set(['ConfigMap', 'Secret', 'ResourceQuota', 'LimitRange', 'NetworkPolicy', 'Service', 'PersistentVolumeClaim']),
  new Set(['Deployment', 'StatefulSet', 'DaemonSet', 'Job', 'CronJob']),
];

/** Objects in the order of their application, by stage; what we do not know comes last, as our own source objects do. */
export function inOrder(objects: readonly KubeObject[]): KubeObject[][] {
  const stages: KubeObject[][] = [...STAGES.map(() => []), []];
  for (const object of objects) stages[stageOf(object.kind)]?.push(object);
  return stages.filter((stage) => stage.length > 0);
}

/** For deletion the other way round. */
export function stageOf(kind: string): number {
  const at = STAGES.findIndex((kinds) => kinds.has(kind));
  return at === -1 ? STAGES.length : at;
}
