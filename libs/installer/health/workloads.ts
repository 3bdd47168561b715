import { refOf, shown, type KubeObject, type Objects } from '@fairlead/kube/rest';
import type { Finding } from '../ladder/ladder-state.js';

interface DeploymentStatus {
  readonly observedGeneration?: number;
  readonly updatedReplicas?: number;
  readonly availableReplicas?: number;
  readonly conditions?: readonly { type: string; status: string; reason?: string; message?: string }[];
}

/** The second layer of health: each Deployment of the bundle is available, as it is now wanted. */
export async function lookAtWorkloads(objects: Objects, wanted: readonly KubeObject[]): Promise<Finding | null> {
  const deployments = wanted.filter(({ kind }) => kind === 'Deployment');
  const unwell: { name: string; why: string }[] = [];
  for (const deployment of deployments) {
    const why = unavailable(await objects.read(refOf(deployment)));
    if (why !== null) unwell.push({ name: deployment.metadata.name, why: `${shown(refOf(deployment))}: ${why}` });
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

/** Why a Deployment is not available; null if it is. */
export function unavailable(deployment: KubeObject | null): string | null {
  if (!deployment) return 'there is none';
  const wanted = (deployment['spec'] as { replicas?: number } | undefined)?.replicas ?? 1;
  const status = (deployment['status'] ?? {}) as DeploymentStatus;
  if ((status.observedGeneration ?? 0) < (deployment.metadata.generation ?? 0)) {
    return 'its controller has not seen its newest version';
  }
  const available = status.conditions?.find(({ type }) => type === 'Available');
  if (available?.status !== 'True') return available?.message ?? 'it is not available';
  if ((status.updatedReplicas ?? 0) < wanted) return `${status.updatedReplicas ?? 0} of ${wanted} replicas are updated`;
  if ((status.availableReplicas ?? 0) < wanted)
    return `${status.availableReplicas ?? 0} of ${wanted} replicas are available`;
  return null;
}
