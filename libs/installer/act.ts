import { keyOf, refOf, shown, type ObjectRef } from '@fairlead/kube/rest';
import { prune } from './apply/prune.js';
import type { ObjectResult } from './apply/reconcile.js';
import { podSelectorOf, CONTROLLER_KINDS } from './health/workloads.js';
import type { Finding, LadderAction } from './ladder/ladder-state.js';
import { findingOf, ownershipOf } from './observe.js';
import { inventoryWith, plainRef } from './state/inventory.js';
import { attemptOf, inventoryOf, type Task, type ToolKeeperParts } from './task.js';

/** Does what the ladder says. Returns what stood in the way, if anything did. */
export async function actOn(
  parts: ToolKeeperParts,
  task: Task,
  { rung, finding }: LadderAction,
  signal: AbortSignal,
): Promise<Finding | null> {
  switch (rung) {
    case 'apply':
      return apply(parts, task, 'apply', signal);
    case 'recreate':
      return apply(parts, task, 'recreate', signal);
    case 'restart':
      return restart(parts, task, finding?.workloads ?? []);
    case 'roll-back':
      await parts.keeper.keep({ givenUp: attemptOf(task.spec) });
      parts.history.record(
        'rolled-back',
        '',
        `${finding?.code ?? 'it cannot be applied'}: back to the last good bundle`,
      );
      break;
  }
  return null;
}

async function apply(
  { keeper, reconciler, objects, history, functional, webhooks }: ToolKeeperParts,
  { driver, spec, desiredObjects, key, reference, revision }: Task,
  mode: 'apply' | 'recreate',
  signal: AbortSignal,
): Promise<Finding | null> {
  const inventory = inventoryOf(desiredObjects);
  const known = new Set(inventory.map(keyOf));
  const before: ObjectRef[] = keeper.held.inventory.map(plainRef);
  const earlier = before.filter((ref) => !known.has(keyOf(ref)));
  const first = keeper.held.appliedKey !== key;
  // What we are about to make is noted first: nothing of it is forgotten, whenever we die.
  const noted = [...earlier, ...inventory];
  await keeper.keep({ tool: driver.tool, inventory: inventoryWith(noted, keeper.held.inventory) });
  const { results, complete } = await reconciler.reconcile(desiredObjects, {
    mode,
    signal,
    ...ownershipOf(objects, driver, spec),
  });
  await keeper.keep({ inventory: inventoryWith(noted, keeper.held.inventory, results) });
  for (const result of results) tellWritten(history, result, first);
  if (results.some(({ outcome }) => outcome !== 'same' && outcome !== 'left')) functional.forget();
  if (!complete) {
    const mayExempt = spec.selfHeal === 'enforce' && !spec.holdRepairs;
    return (await webhooks.blocking(results, desiredObjects, [driver.namespace], mayExempt)) ?? findingOf(results);
  }
  webhooks.passed();
  const { removed, left } = await prune(objects, driver, spec, desiredObjects, noted);
  for (const ref of removed) history.record('removed', shown(ref), 'no longer wanted');
  for (const why of left) history.recordOnce('observed', '', `not removed: ${why}`);
  if (first) history.record('installed', '', `revision ${revision}, bundle ${reference.digest.slice(0, 12)}`);
  await keeper.keep({
    appliedKey: key,
    appliedRevision: revision,
    bundleDigest: reference.digest,
    inventory: inventoryWith(inventory, keeper.held.inventory),
  });
  return null;
}

/** What of it belongs into the history. `first`: of an installation. */
export function tellWritten(
  history: ToolKeeperParts['history'],
  { ref, outcome, error }: ObjectResult,
  first: boolean,
): void {
  // An installation of forty objects is one event of the history, not forty.
  if (outcome === 'recreated') history.record('recreated', shown(ref), 'made anew');
  else if (!first && outcome === 'created') history.record('applied', shown(ref), 'it was gone');
  else if (!first && outcome === 'updated') history.record('applied', shown(ref), 'it differed');
  else if (outcome === 'failed')
    history.recordOnce('observed', shown(ref), error?.message ?? 'it could not be written');
}

/** A controller that is frozen hears no SIGTERM: what it would have of its own, often a minute, is only waited for. */
const GRACE_SECONDS = 10;

/** Deletes the pods of Deployments and StatefulSets, as their selectors find them. */
async function restart(
  { objects, history, functional }: ToolKeeperParts,
  { driver, desiredObjects }: Task,
  names: readonly string[],
): Promise<null> {
  for (const workload of desiredObjects.filter(
    ({ kind, metadata }) => CONTROLLER_KINDS.has(kind) && names.includes(metadata.name),
  )) {
    const labelSelector = podSelectorOf(workload);
    if (labelSelector === null) continue;
    const namespace = workload.metadata.namespace ?? driver.namespace;
    const pods = await objects.list(
      { apiVersion: 'v1', kind: 'Pod' },
      { namespace, labelSelector, metadataOnly: true },
    );
    for (const pod of pods) {
      const { uid } = pod.metadata;
      await objects.remove(refOf(pod), { gracePeriodSeconds: GRACE_SECONDS, ...(uid === undefined ? {} : { uid }) });
    }
    history.record('restarted', shown(refOf(workload)), `${pods.length} of its pods were deleted`);
  }
  functional.forget();
  return null;
}
