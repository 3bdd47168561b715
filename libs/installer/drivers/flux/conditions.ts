import type { SourceState } from '@fairlead/desired-state';
import type { KubeObject } from '@fairlead/kube/rest';

interface FluxStatus {
  readonly conditions?: readonly { type: string; status: string; reason?: string; message?: string }[];
  readonly artifact?: { readonly revision?: string };
  readonly lastAppliedRevision?: string;
  readonly observedGeneration?: number;
  readonly lastHandledReconcileAt?: string;
}

export function statusOf(object: KubeObject): FluxStatus {
  return object['status'] ?? {};
}

/** What Flux says of one of its objects; null if there is no such object. */
export function stateOf(object: KubeObject | null, at: string): SourceState | null {
  if (!object) return null;
  const status = statusOf(object);
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  const stale = (status.observedGeneration ?? -1) !== object.metadata.generation;
  return {
    ready:
      ready === undefined || ready.status === 'Unknown' || (stale && ready.status === 'True')
        ? null
        : ready.status === 'True',
    reason: (ready?.reason ?? '').slice(0, 128),
    message: (ready?.message ?? '').slice(0, 1_024),
    revision: (status.lastAppliedRevision ?? status.artifact?.revision ?? '').slice(0, 256),
    at,
  };
}
