import type { Tool } from '@fairlead/desired-state';
import type { KubeObject } from '@fairlead/kube/rest';
import { LABELS, OWNER } from '../names.js';

/** Objects that can be told from everybody else's. */
export function withLabels(objects: readonly KubeObject[], tool: Tool): KubeObject[] {
  return objects.map((object) => {
    const labels = { ...object.metadata.labels, [LABELS.managedBy]: OWNER, [LABELS.bundle]: tool };
    return { ...object, metadata: { ...object.metadata, labels } };
  });
}
