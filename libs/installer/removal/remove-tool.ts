import { isDeepStrictEqual } from 'node:util';
import type { DesiredState } from '@fairlead/desired-state';
import { keyOf, refOf, shown, type KubeObject, type Objects, type ObjectRef } from '@fairlead/kube/rest';
import { stageOf } from '../apply/order.js';
import type { ToolDriver } from '../drivers/driver.js';
import { FIELD_MANAGER, LABELS, OWN, OWNER, isOurs, onlyThis } from '../names.js';
import type { Told } from '../report/make-report.js';
import { NOTHING_HELD } from '../state/state-keeper.js';
import { createdUids, plainRef } from '../state/inventory.js';
import type { OwnObjects } from '../state/own-objects.js';
import type { ToolKeeperParts } from '../task.js';
import { Problem } from '../problem.js';
import { emptySources, othersObjectsOf, releaseObjects, stopControllers, toolPods } from './unwind.js';
import { foreignObjectsIn } from './foreign-objects.js';

/**
 * Takes one step of the removal that is desired; what was done is seen in the cluster, so that any step may be the first after a restart.
 * `keep` only takes our labels off. `tool` stops the controllers before anything that they watch goes, so that nothing which they
 * deployed goes with it. `everything` has them delete what our source deployed first.
 */
export async function removeTool(
  parts: ToolKeeperParts,
  own: OwnObjects,
  drivers: readonly ToolDriver[],
  desired: DesiredState,
  signal: AbortSignal,
): Promise<Told> {
  const { keeper } = parts;
  const driver = drivers.find(({ tool }) => tool === keeper.held.tool);
  const inventory = keeper.held.inventory.map(plainRef).toSorted((a, b) => stageOf(b.kind) - stageOf(a.kind));
  if (driver && inventory.length > 0) {
    const waits =
      desired.remove === 'keep'
        ? await disown(parts, inventory, signal)
        : await takeAway(parts, driver, inventory, desired.remove === 'everything', signal);
    if (waits) return { phase: 'removing', problem: waits };
  }
  await forgetAll(parts, own, desired.revision);
  return { phase: 'off', problem: null };
}

async function disown(
  { objects, history }: ToolKeeperParts,
  inventory: readonly ObjectRef[],
  signal: AbortSignal,
): Promise<null> {
  for (const ref of inventory) {
    signal.throwIfAborted();
    const live = await objects.read(ref);
    if (live?.metadata.labels?.[LABELS.managedBy] !== OWNER) continue;
    await objects.patch(ref, { type: 'merge', body: UNOWNED }, FIELD_MANAGER);
  }
  history.record('removed', '', `${inventory.length} objects are left as they are, unowned`);
  return null;
}

/** What is waited for; null: nothing is left. */
async function takeAway(
  parts: ToolKeeperParts,
  driver: ToolDriver,
  inventory: readonly ObjectRef[],
  everything: boolean,
  signal: AbortSignal,
): Promise<Problem | null> {
  const { objects } = parts;
  if (everything && (await emptySources(objects, driver, inventory))) {
    return new Problem('REMOVAL_WAITS', 'the tool deletes what it deployed from the catalog');
  }
  const others = await stopControllers(objects, driver, inventory);
  const pods = await toolPods(objects, driver, inventory, others);
  if (pods.length > 0) return new Problem('REMOVAL_WAITS', `${pods.length} pods of the tool end`);
  await releaseObjects(objects, driver, inventory, signal);
  const why = others.length === 0 ? null : `${shown(refOf(others[0] as KubeObject))} is not ours, and may need it`;
  for (const ref of inventory) {
    signal.throwIfAborted();
    await removeOurs(parts, driver, ref, why);
  }
  return remaining(parts, driver, inventory);
}

/** Only what still is ours: what somebody made in its place is theirs, and what they need stays, without our labels. */
async function removeOurs(
  { objects, history, keeper }: ToolKeeperParts,
  driver: ToolDriver,
  ref: ObjectRef,
  others: string | null,
): Promise<void> {
  const live = await objects.read(ref);
  if (!live || !isOurs(live, driver.tool) || live.metadata.deletionTimestamp !== undefined) return;
  const { uid } = live.metadata;
  const isCreated = uid !== undefined && createdUids(keeper.held.inventory).get(keyOf(ref)) === uid;
  const why = (isCreated ? null : others) ?? (await keptFor(objects, driver, live, isCreated));
  if (why === null) {
    if (await objects.remove(ref, onlyThis(live))) history.record('removed', shown(ref), 'it is wanted no more');
    return;
  }
  await objects.patch(ref, { type: 'merge', body: UNOWNED }, FIELD_MANAGER);
  history.record('observed', shown(ref), `it stays: ${why}`);
}

const UNOWNED = { metadata: { labels: { [LABELS.managedBy]: null, [LABELS.bundle]: null } } };

/** Why an object stays because of what would go with it. */
async function keptFor(
  objects: Objects,
  driver: ToolDriver,
  live: KubeObject,
  isCreated: boolean,
): Promise<string | null> {
  if (live.kind === 'CustomResourceDefinition') {
    const { length } = await othersObjectsOf(objects, driver, live);
    return length === 0 ? null : `there are ${length} objects of it that are not ours`;
  }
  if (live.kind !== 'Namespace') return null;
  if (!isCreated) return 'it was there before';
  const foreign = await foreignObjectsIn(objects, live.metadata.name, driver);
  return foreign.length === 0 ? null : `others use it: ${foreign.slice(0, 3).join(', ')}`;
}

async function remaining(
  { objects }: ToolKeeperParts,
  driver: ToolDriver,
  inventory: readonly ObjectRef[],
): Promise<Problem | null> {
  for (const ref of inventory.filter(({ kind }) => kind !== 'Namespace')) {
    const live = await objects.read(ref);
    if (live && isOurs(live, driver.tool)) return new Problem('REMOVAL_WAITS', `${shown(ref)} is not gone yet`);
  }
  return null;
}

async function forgetAll({ keeper, functional }: ToolKeeperParts, own: OwnObjects, revision: number): Promise<void> {
  const { trustVersion, rootsPem, desired } = keeper.held;
  const next = { ...NOTHING_HELD, trustVersion, rootsPem, desired, appliedRevision: revision };
  if (isDeepStrictEqual(next, keeper.held)) return;
  await own.remove('ConfigMap', OWN.good);
  await own.remove('Secret', OWN.keys);
  functional.forget();
  await keeper.keep(next);
}
