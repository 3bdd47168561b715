import { refOf, shown, type KubeObject, type Objects } from '@fairlead/kube/rest';
import { FairleadError } from '@fairlead/errors';
import type { ToolDriver } from '../drivers/driver.js';
import { isOurs } from '../names.js';

/** What people keep in a namespace. What Kubernetes puts there by itself, such as tokens and endpoints, is not among it. */
const KEPT = [
  { apiVersion: 'v1', kind: 'Pod' },
  { apiVersion: 'v1', kind: 'Service' },
  { apiVersion: 'v1', kind: 'Secret' },
  { apiVersion: 'v1', kind: 'ConfigMap' },
  { apiVersion: 'v1', kind: 'PersistentVolumeClaim' },
  { apiVersion: 'apps/v1', kind: 'Deployment' },
  { apiVersion: 'apps/v1', kind: 'StatefulSet' },
  { apiVersion: 'apps/v1', kind: 'DaemonSet' },
  { apiVersion: 'batch/v1', kind: 'Job' },
  { apiVersion: 'batch/v1', kind: 'CronJob' },
  { apiVersion: 'v1', kind: 'ServiceAccount' },
  { apiVersion: 'v1', kind: 'ReplicationController' },
  { apiVersion: 'v1', kind: 'ResourceQuota' },
  { apiVersion: 'v1', kind: 'LimitRange' },
  { apiVersion: 'apps/v1', kind: 'ReplicaSet' },
  { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role' },
  { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding' },
  { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress' },
  { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy' },
  { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler' },
  { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget' },
];
/** Put into each namespace by the controller manager, or a service mesh. */
const EVERYWHERE = new Set(['ConfigMap kube-root-ca.crt', 'ConfigMap istio-ca-root-cert', 'ServiceAccount default']);
const DEFINITION = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' };

/** What others than we have in a namespace, for people: of the kinds above, and of all custom ones. */
export async function foreignObjectsIn(objects: Objects, namespace: string, driver: ToolDriver): Promise<string[]> {
  const found: string[] = [];
  for (const kind of [...KEPT, ...(await customKinds(objects))]) {
    for (const item of await objects.list(kind, { namespace, metadataOnly: true }).catch(unlessAnswered)) {
      if (item === null) found.push(`perhaps some ${kind.kind}, which cannot be listed`);
      else if (isForeign(item, driver)) found.push(shown(refOf(item)));
    }
  }
  return found;
}

function isForeign(item: KubeObject, { tool, leavings }: ToolDriver): boolean {
  const { deletionTimestamp, name } = item.metadata;
  const owners = (item.metadata['ownerReferences'] ?? []) as readonly { controller?: boolean }[];
  // What a controller made goes, or stays, with what it was made for, which is in the same namespace.
  const isMade = owners.some(({ controller }) => controller === true);
  const shownAs = `${item.kind} ${name}`;
  const isNobodys = EVERYWHERE.has(shownAs) || leavings.includes(shownAs);
  return !isMade && deletionTimestamp === undefined && !isNobodys && !isOurs(item, tool);
}

async function customKinds(objects: Objects): Promise<{ apiVersion: string; kind: string }[]> {
  const definitions = await objects.list(DEFINITION);
  return definitions.flatMap((definition) => {
    const spec = definition['spec'] as DefinitionSpec & { scope: string };
    const kind = kindOf(spec);
    return spec.scope === 'Namespaced' && kind ? [kind] : [];
  });
}

export interface DefinitionSpec {
  readonly group: string;
  readonly names: { readonly kind: string };
  readonly versions: readonly { readonly name: string; readonly served: boolean }[];
}

/** As the API server serves it; null: it does not. */
export function kindOf({ group, names, versions }: DefinitionSpec): { apiVersion: string; kind: string } | null {
  const version = versions.find(({ served }) => served)?.name;
  return version === undefined ? null : { apiVersion: `${group}/${version}`, kind: names.kind };
}

/** A kind whose conversion webhook is dead, say: whoever cannot look must not conclude that there is nothing. */
function unlessAnswered(error: unknown): [null] {
  if (error instanceof FairleadError && error.details?.['httpStatus'] !== undefined) return [null];
  throw error;
}
