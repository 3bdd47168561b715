import type { Tool } from '@fairlead/desired-state';
import type { KubeObject } from '@fairlead/kube/rest';

/** What is ours in a cluster bears these names. */
export const FIELD_MANAGER = 'fairlead-installer';

export const LABELS = {
  managedBy: 'app.kubernetes.io/managed-by',
  bundle: 'fairlead.dev/bundle',
} as const;

/** Value of the label `app.kubernetes.io/managed-by`. */
export const OWNER = 'fairlead';

/** All objects of ours, but those that the agent and the import manifest keep. */
export const OURS = `${LABELS.managedBy}=${OWNER},${LABELS.bundle}`;

export const ANNOTATIONS = {
  /** `disabled` on an object: it is left as it is. */
  reconcile: 'fairlead.dev/reconcile',
  /** On a webhook configuration: which of our namespaces were exempted from it, and when. */
  exempted: 'fairlead.dev/exempted',
  /** On our ClusterRoleBinding: how far an installer was here (`state/high-water.ts`). */
  highWater: 'fairlead.dev/high-water',
} as const;

/** The ClusterRoleBinding that the import manifest gives us. */
export const BINDING = 'fairlead-installer';

/** What the installer keeps in its own namespace. */
export const OWN = {
  state: 'fairlead-installer-state',
  good: 'fairlead-bundle-good',
  keys: 'fairlead-deploy-keys',
  /** Who holds it acts (`lease/`). */
  lease: 'fairlead-installer',
} as const;

/** Objects that can be told from everybody else's. */
export function withLabels(objects: readonly KubeObject[], tool: Tool): KubeObject[] {
  return objects.map((object) => {
    const labels = { ...object.metadata.labels, [LABELS.managedBy]: OWNER, [LABELS.bundle]: tool };
    return { ...object, metadata: { ...object.metadata, labels } };
  });
}

/** Has it our labels, and did nobody ask for it to be left alone? What the inventory names may never have become ours. */
export function isOurs({ metadata: { labels, annotations } }: KubeObject, tool: Tool): boolean {
  return (
    labels?.[LABELS.managedBy] === OWNER &&
    labels[LABELS.bundle] === tool &&
    annotations?.[ANNOTATIONS.reconcile] !== 'disabled'
  );
}

/** For a deletion of this object, and of no other one that bears its name by then. */
export function onlyThis({ metadata: { uid } }: KubeObject): { uid?: string } {
  return uid === undefined ? {} : { uid };
}
