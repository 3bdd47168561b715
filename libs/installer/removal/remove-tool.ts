import { isDeepStrictEqual } from 'node:util';
import type { DesiredState } from '@fairlead/desired-state';
import { FairleadError } from '@fairlead/errors';
import { shown, type ObjectRef } from '@fairlead/kube/rest';
import { plainRef } from '../act.js';
import { stageOf } from '../apply/order.js';
import type { ToolDriver } from '../drivers/driver.js';
import { FIELD_MANAGER, LABELS, OWN, OWNER } from '../names.js';
import type { Told } from '../report/make-report.js';
import { NOTHING_HELD } from '../state/held-state.js';
import type { OwnObjects } from '../state/own-objects.js';
import type { ToolKeeperParts } from '../task.js';
import { Trouble } from '../trouble.js';
import { emptySources, releaseObjects, stopControllers, toolPods } from './unwind.js';
import { strangersIn } from './strangers.js';

/**
 * Takes one step of the removal that is wanted; what was done is seen in the cluster, so that any step may be the first after a restart.
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
  { objects, story }: ToolKeeperParts,
  inventory: readonly ObjectRef[],
  signal: AbortSignal,
): Promise<null> {
  for (const ref of inventory) {
    signal.throwIfAborted();
    const live = await objects.read(ref);
    if (live?.metadata.labels?.[LABELS.managedBy] !== OWNER) continue;
    const body = { metadata: { labels: { [LABELS.managedBy]: null, [LABELS.bundle]: null } } };
    await objects.patch(ref, { type: 'merge', body }, FIELD_MANAGER);
  }
  story.tell('removed', '', `${inventory.length} objects are left as they are, unowned`);
  return null;
}

/** What is waited for; null: nothing is left. */
async function takeAway(
  parts: ToolKeeperParts,
  driver: ToolDriver,
  inventory: readonly ObjectRef[],
  everything: boolean,
  signal: AbortSignal,
): Promise<Trouble | null> {
  const { objects, story } = parts;
  if (everything && (await emptySources(objects, driver, inventory))) {
    return new Trouble('REMOVAL_WAITS', 'the tool deletes what it deployed from the catalog');
  }
  await stopControllers(objects, driver, inventory);
  const pods = await toolPods(objects, driver, inventory);
  if (pods.length > 0) return new Trouble('REMOVAL_WAITS', `${pods.length} pods of the tool end`);
  await releaseObjects(objects, driver, inventory, signal);
  for (const ref of inventory.filter(({ kind }) => kind !== 'Namespace')) {
    if (await removeOurs(parts, ref)) story.tell('removed', shown(ref), 'it is wanted no more');
  }
  return removeNamespaces(parts, inventory);
}

/** Only what still has our label: what somebody made in its place is theirs. */
async function removeOurs({ objects }: ToolKeeperParts, ref: ObjectRef): Promise<boolean> {
  const live = await objects.read(ref);
  if (!live || live.metadata.labels?.[LABELS.managedBy] !== OWNER || live.metadata.deletionTimestamp) return false;
  const { uid } = live.metadata;
  return objects.remove(ref, uid === undefined ? {} : { uid });
}

async function removeNamespaces(parts: ToolKeeperParts, inventory: readonly ObjectRef[]): Promise<Trouble | null> {
  const { objects, story } = parts;
  for (const ref of inventory) {
    if (ref.kind === 'Namespace') {
      const strangers = await strangersIn(objects, ref.name);
      if (strangers.length > 0) {
        const body = { metadata: { labels: { [LABELS.managedBy]: null, [LABELS.bundle]: null } } };
        await objects.patch(ref, { type: 'merge', body }, FIELD_MANAGER).catch(unlessGone);
        story.tell('observed', shown(ref), `it stays, because others use it: ${strangers.slice(0, 3).join(', ')}`);
      } else if (await removeOurs(parts, ref)) story.tell('removed', shown(ref), 'it is wanted no more');
      continue;
    }
    const live = await objects.read(ref);
    if (live?.metadata.labels?.[LABELS.managedBy] === OWNER)
      return new Trouble('REMOVAL_WAITS', `${shown(ref)} is not gone yet`);
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

function unlessGone(error: unknown): void {
  if (!(error instanceof FairleadError) || error.code !== 'NOT_FOUND') throw error;
}
