import type { KubeObject, Objects, ObjectRef } from '@fairlead/kube/rest';
import { spkiPin } from '@fairlead/pki';
import { z } from 'zod';
import { Problem } from '../problem.js';
import { ANNOTATIONS, BINDING, FIELD_MANAGER } from '../names.js';
import type { HeldState } from './state-keeper.js';

/** How far an installer of this cluster was, and which roots it believed then. */
export const HighWater = z.object({
  clusterId: z.string(),
  /** Of the newest desired state that was verified. */
  revision: z.int().min(0),
  /** Of the trust bundle that its roots are of; 0: none was verified. */
  trustVersion: z.int().min(0),
  /** Of the roots of that trust bundle; empty without one. */
  pins: z.array(z.string()).max(4),
});
export type HighWater = z.infer<typeof HighWater>;

const REF: ObjectRef = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', name: BINDING };

/**
 * A second record, outside of our namespace: whoever may delete Secrets there could otherwise have older desired state and retired roots
 * count again. It is an annotation of our ClusterRoleBinding, which only who may grant `cluster-admin` can change.
 * STATE_UNREADABLE if it holds something else.
 */
export async function readHighWater(objects: Objects, clusterId: string): Promise<HighWater | null> {
  const found: KubeObject | null = await objects.read(REF);
  const text = found?.metadata.annotations?.[ANNOTATIONS.highWater];
  if (text === undefined) return null;
  const mark = parsed(text);
  // Of a cluster that was registered anew: its revisions begin anew too.
  return mark.clusterId === clusterId ? mark : null;
}

export async function writeHighWater(objects: Objects, mark: HighWater): Promise<void> {
  const body = { metadata: { annotations: { [ANNOTATIONS.highWater]: JSON.stringify(mark) } } };
  await objects.patch(REF, { type: 'merge', body }, FIELD_MANAGER);
}

/** The record as it ought to be; null: it is already. It never goes back. */
export function raised(mark: HighWater | null, held: HeldState, clusterId: string): HighWater | null {
  const revision = Math.max(mark?.revision ?? 0, held.desired?.revision ?? 0);
  const newer = held.trustVersion > (mark?.trustVersion ?? 0);
  if (!newer && revision === (mark?.revision ?? 0)) return null;
  const trust = newer
    ? { trustVersion: held.trustVersion, pins: held.rootsPem.map(spkiPin) }
    : { trustVersion: mark?.trustVersion ?? 0, pins: mark?.pins ?? [] };
  return { clusterId, revision, ...trust };
}

function parsed(text: string): HighWater {
  try {
    return HighWater.parse(JSON.parse(text));
  } catch (cause) {
    const why = `the annotation ${ANNOTATIONS.highWater} of ClusterRoleBinding ${BINDING} cannot be read; take it off`;
    throw new Problem('STATE_UNREADABLE', why, { cause });
  }
}
