import type { GitOpsSpec } from '@fairlead/desired-state';
import { keyOf, refOf, shown, type KubeObject, type Objects, type ObjectRef } from '@fairlead/kube/rest';
import type { ToolDriver } from '../drivers/driver.js';
import { ANNOTATIONS, FIELD_MANAGER, LABELS, OURS, OWNER } from '../names.js';
import { stageOf } from './order.js';
import { kindOf, type DefinitionSpec } from '../removal/foreign-objects.js';

interface Pruned {
  readonly removed: readonly ObjectRef[];
  /** What was not removed though nobody wants it, and why. */
  readonly left: readonly string[];
}

/**
 * Deletes what we made and nobody wants any more: by the inventory, and by our labels among the kinds of it. Only an object with our
 * labels; no namespace; no definition that somebody still has objects of; and a source lets go of what it deployed first.
 */
export async function prune(
  objects: Objects,
  driver: ToolDriver,
  spec: GitOpsSpec,
  desired: readonly KubeObject[],
  inventory: readonly ObjectRef[],
): Promise<Pruned> {
  const keys = new Set(desired.map((object) => keyOf(refOf(object))));
  const candidates = await ours(objects, driver, [...inventory, ...desired.map(refOf)]);
  const removed: ObjectRef[] = [];
  const left: string[] = [];
  for (const live of candidates.filter((live) => !keys.has(keyOf(refOf(live)))).toSorted(lastStageFirst)) {
    const ref = refOf(live);
    const why = await keptFor(objects, live, driver.isOursAlone(ref, spec));
    if (why !== null) {
      left.push(`${shown(ref)}: ${why}`);
      continue;
    }
    const released = driver.released(ref);
    if (released !== null) await objects.patch(ref, { type: 'merge', body: released }, FIELD_MANAGER);
    const { uid } = live.metadata;
    if (await objects.remove(ref, uid === undefined ? {} : { uid })) removed.push(ref);
  }
  return { removed, left };
}

/** All objects of ours of the kinds that these are of. */
async function ours(objects: Objects, driver: ToolDriver, refs: readonly ObjectRef[]): Promise<KubeObject[]> {
  const kinds = new Map(refs.map(({ apiVersion, kind }) => [`${apiVersion} ${kind}`, { apiVersion, kind }]));
  const found: KubeObject[] = [];
  for (const kind of kinds.values()) {
    const items = await objects.list(kind, { labelSelector: OURS, metadataOnly: true });
    found.push(
      ...items.filter(
        ({ metadata: { labels, deletionTimestamp } }) =>
          labels?.[LABELS.managedBy] === OWNER &&
          labels[LABELS.bundle] === driver.tool &&
          deletionTimestamp === undefined,
      ),
    );
  }
  return found;
}

async function keptFor(objects: Objects, live: KubeObject, oursAlone: boolean): Promise<string | null> {
  if (!oursAlone && live.metadata.annotations?.[ANNOTATIONS.reconcile] === 'disabled') {
    return 'it is annotated to be left alone';
  }
  if (live.kind === 'Namespace') return 'what else is in a namespace would go with it';
  if (live.kind !== 'CustomResourceDefinition') return null;
  const definition = await objects.read(refOf(live));
  const kind = definition && kindOf(definition['spec'] as DefinitionSpec);
  const some = kind ? await objects.list(kind, { metadataOnly: true }) : [];
  return some.length === 0 ? null : `there are ${some.length} objects of it`;
}

function lastStageFirst(a: KubeObject, b: KubeObject): number {
  return stageOf(b.kind) - stageOf(a.kind);
}
