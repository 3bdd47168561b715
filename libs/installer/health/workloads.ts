import { refOf, shown, type KubeObject, type Objects } from '@fairlead/kube/rest';
import type { Finding } from '../ladder/ladder-state.js';

/** Of what a tool consists of. */
export const CONTROLLER_KINDS: ReadonlySet<string> = new Set(['Deployment', 'StatefulSet']);

interface WorkloadStatus {
  readonly observedGeneration?: number;
  readonly updatedReplicas?: number;
  readonly availableReplicas?: number;
  readonly conditions?: readonly { type: string; status: string; reason?: string; message?: string }[];
}

/** The second layer of health: each Deployment and StatefulSet of the bundle is available, as it is now desired. */
export async function observeWorkloads(objects: Objects, desired: readonly KubeObject[]): Promise<Finding | null> {
  const workloads = desired.filter(({ kind }) => CONTROLLER_KINDS.has(kind));
  const unwell: { name: string; why: string }[] = [];
  for (const workload of workloads) {
    const why = unavailable(await objects.read(refOf(workload)));
    if (why !== null) unwell.push({ name: workload.metadata.name, why: `${shown(refOf(workload))}: ${why}` });
  }
  if (unwell.length === 0) return null;
  return {
    layer: 'workloads',
    code: 'WORKLOAD_UNAVAILABLE',
    message: unwell
      .map(({ why }) => why)
      .join('; ')
      .slice(0, 900),
    workloads: unwell.map(({ name }) => name),
  };
}

/** Why a Deployment or StatefulSet is not available; null if it is. */
export function unavailable(workload: KubeObject | null): string | null {
  if (!workload) return 'there is none';
  const desired = (workload['spec'] as { replicas?: number } | undefined)?.replicas ?? 1;
  const status = (workload['status'] ?? {}) as WorkloadStatus;
  if ((status.observedGeneration ?? 0) < (workload.metadata.generation ?? 0)) {
    return 'its controller has not seen its newest version';
  }
  const available = status.conditions?.find(({ type }) => type === 'Available');
  // A StatefulSet has no conditions, only its counts.
  if (workload.kind !== 'StatefulSet' && available?.status !== 'True')
    return available?.message ?? 'it is not available';
  if ((status.updatedReplicas ?? 0) < desired)
    return `${status.updatedReplicas ?? 0} of ${desired} replicas are updated`;
  if ((status.availableReplicas ?? 0) < desired) {
    return `${status.availableReplicas ?? 0} of ${desired} replicas are available`;
  }
  return null;
}

interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

/** What lists the pods of a workload; null: its selector has nothing to go by, or what we do not know, and no pod may be taken for its own. */
export function podSelectorOf(workload: KubeObject): string | null {
  const { selector = {} } = (workload['spec'] ?? {}) as { selector?: Selector };
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const terms: (string | null)[] = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  for (const { key, operator, values = [] } of matchExpressions) terms.push(termOf(key, operator, values));
  return terms.length === 0 || terms.includes(null) ? null : terms.join(',');
}

function termOf(key: string, operator: string, values: readonly string[]): string | null {
  switch (operator) {
    case 'Exists':
      return key;
    case 'DoesNotExist':
      return `!${key}`;
    case 'In':
      return values.length === 0 ? null : `${key} in (${values.join(',')})`;
    case 'NotIn':
      return values.length === 0 ? null : `${key} notin (${values.join(',')})`;
    default:
      return null;
  }
}
