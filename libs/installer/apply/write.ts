import { FairleadError } from '@fairlead/errors';
import { refOf, type KubeObject, type ManagedFields, type Objects, keyOf, type ObjectRef } from '@fairlead/kube/rest';
import type { Clock } from '@fairlead/clock';
import { ARGOCD_FINALIZERS, FLUX_FINALIZERS } from '../drivers/argocd/kinds.js';
import { FIELD_MANAGER } from '../names.js';
import { Problem } from '../problem.js';
import { underAnotherName, type Comparison } from './compare.js';
import { mayBeMadeAnew } from './immutable.js';

const TOOL_FINALIZERS = new Set([...FLUX_FINALIZERS, ...ARGOCD_FINALIZERS]);
/** The tool has this long to let go of what is deleted, once it was seen to be. */
const STUCK_MS = 30_000;

/** Brings an object to what is desired. Returns it as it is then. OBJECT_IMMUTABLE for one that may not be made anew. */
export async function write(
  objects: Objects,
  desired: KubeObject,
  comparison: Comparison,
  departures: Departures,
): Promise<KubeObject> {
  switch (comparison.kind) {
    case 'differs':
      await takeOver(objects, comparison.live, comparison.takeOver);
      return applyTo(objects, comparison.object);
    case 'immutable':
      return recreate(objects, desired, comparison.live, comparison);
    case 'refused':
      throw comparison.error;
    case 'terminating':
      await letGo(objects, comparison.live, departures);
      throw new Problem('OBJECT_TERMINATING', 'it is being deleted: it is made anew once it is gone');
    case 'missing':
      return applyTo(objects, desired);
    case 'same':
      return comparison.live;
    case 'left':
      break;
  }
  return desired;
}

/** Deletes an object and makes it anew, if it is of a kind that may be (or `frozen`, and ours) and nothing keeps us from deleting it. */
export async function recreate(
  objects: Objects,
  desired: KubeObject,
  live: KubeObject | null,
  { error: why, frozen = false }: { readonly error?: FairleadError; readonly frozen?: boolean } = {},
): Promise<KubeObject> {
  if (!frozen && !mayBeMadeAnew(desired)) {
    const what = why ? `: ${why.message}` : '';
    throw new Problem('OBJECT_IMMUTABLE', `a ${desired.kind} is never made anew${what}`, { cause: why });
  }
  const { uid } = live?.metadata ?? {};
  if (uid !== undefined) {
    // What could not be made again, for a policy, is not deleted.
    await objects.create(underAnotherName(desired), true);
    await objects.remove(refOf(desired), { uid, dryRun: true });
    await objects.remove(refOf(desired), { uid });
  }
  return applyTo(objects, desired);
}

function applyTo(objects: Objects, object: KubeObject): Promise<KubeObject> {
  return objects.apply(object, { fieldManager: FIELD_MANAGER, force: true });
}

/**
 * Of one that is being deleted: whoever should let go of it may be gone with it, as when its namespace is deleted with the tool's
 * controllers in it. Only the tool's own finalizers are taken off.
 */
export async function letGo(objects: Objects, live: KubeObject, departures: Departures): Promise<void> {
  const leavesForMs = departures.seenForMs(live);
  const { finalizers = [], namespace } = live.metadata;
  const others = finalizers.filter((name) => !TOOL_FINALIZERS.has(name));
  if (others.length === finalizers.length) return;
  const around =
    namespace === undefined ? null : await objects.read({ apiVersion: 'v1', kind: 'Namespace', name: namespace });
  const leaving = around?.metadata.deletionTimestamp !== undefined;
  if (!leaving && leavesForMs < STUCK_MS) return;
  await objects.patch(refOf(live), { type: 'merge', body: { metadata: { finalizers: others } } }, FIELD_MANAGER);
}

async function takeOver(objects: Objects, live: KubeObject, managed: readonly ManagedFields[] | null): Promise<void> {
  if (managed === null) return;
  const body = [
    { op: 'test', path: '/metadata/resourceVersion', value: live.metadata.resourceVersion },
    { op: 'replace', path: '/metadata/managedFields', value: managed },
  ];
  await objects.patch(refOf(live), { type: 'json', body }, FIELD_MANAGER);
}

/** More than any bundle has objects. */
const MAX_OBJECTS = 4_000;

interface Departure {
  readonly uid: string | undefined;
  readonly sinceMs: number;
}

/**
 * Since when objects are seen to be deleted. Their own time of it is of the API server's clock, which may be minutes away from ours; so it
 * counts from when this process saw it first.
 */
export class Departures {
  readonly #seen = new Map<string, Departure>();

  constructor(private readonly clock: Pick<Clock, 'monotonicMs'>) {}

  /** For how long, in milliseconds, this one is known to be leaving; 0 for one that was not seen so before. */
  seenForMs(live: KubeObject): number {
    const key = keyOf(refOf(live));
    const { uid } = live.metadata;
    const nowMs = this.clock.monotonicMs();
    const known = this.#seen.get(key);
    if (known && known.uid === uid) return nowMs - known.sinceMs;
    if (this.#seen.size >= MAX_OBJECTS) this.#seen.clear();
    this.#seen.set(key, { uid, sinceMs: nowMs });
    return 0;
  }

  /** It is gone, or there again. */
  forget(ref: ObjectRef): void {
    this.#seen.delete(keyOf(ref));
  }
}
