import { refOf, shown, type Objects } from '@fairlead/kube/rest';
import { LABELS, OWNER } from '../names.js';

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
];
/** Put into each namespace by the controller manager, or a service mesh. */
const EVERYWHERE = new Set(['kube-root-ca.crt', 'istio-ca-root-cert']);

/** What others than we have in a namespace, for people. */
export async function strangersIn(objects: Objects, namespace: string): Promise<string[]> {
  const found: string[] = [];
  for (const kind of KEPT) {
    for (const item of await objects.list(kind, { namespace, metadataOnly: true })) {
      const { labels, deletionTimestamp, name } = item.metadata;
      if (labels?.[LABELS.managedBy] === OWNER || deletionTimestamp !== undefined || EVERYWHERE.has(name)) continue;
      found.push(shown(refOf(item)));
    }
  }
  return found;
}
