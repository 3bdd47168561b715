import { refOf, type KubeObject, type Objects, type ObjectRef } from '@fairlead/kube/rest';
import type { ToolDriver } from '../drivers/driver.js';
import { FIELD_MANAGER, isOurs, onlyThis } from '../names.js';
import { kindOf, type DefinitionSpec } from './foreign-objects.js';

const WORKLOADS = new Set(['Deployment', 'StatefulSet', 'DaemonSet']);

/** Has the tool delete what our source deployed. True as long as it is at it. */
export async function emptySources(
  objects: Objects,
  driver: ToolDriver,
  inventory: readonly ObjectRef[],
): Promise<boolean> {
  let left = false;
  for (const ref of inventory) {
    const body = driver.emptied(ref);
    const live = body === null ? null : await objects.read(ref);
    if (!live || !isOurs(live, driver.tool)) continue;
    left = true;
    if (live.metadata.deletionTimestamp !== undefined) continue;
    await objects.patch(ref, { type: 'merge', body }, FIELD_MANAGER);
    await objects.remove(ref, onlyThis(live));
  }
  return left;
}

/**
 * Lets our sources go of what they deployed, and deletes the controllers that are ours. Returns those of the inventory's names that are
 * not: somebody runs the tool without us.
 */
export async function stopControllers(
  objects: Objects,
  driver: ToolDriver,
  inventory: readonly ObjectRef[],
): Promise<KubeObject[]> {
  for (const ref of inventory) {
    const body = driver.released(ref);
    const live = body === null ? null : await objects.read(ref);
    if (live && isOurs(live, driver.tool)) await objects.patch(ref, { type: 'merge', body }, FIELD_MANAGER);
  }
  const others: KubeObject[] = [];
  for (const ref of inventory.filter(({ kind }) => WORKLOADS.has(kind))) {
    const live = await objects.read(ref);
    if (live && isOurs(live, driver.tool)) await objects.remove(ref, onlyThis(live));
    else if (live) others.push(live);
  }
  return others;
}

/** The pods that still run with an account of the tool, but for those of others' controllers. */
export async function toolPods(
  objects: Objects,
  driver: ToolDriver,
  inventory: readonly ObjectRef[],
  others: readonly KubeObject[],
): Promise<KubeObject[]> {
  const theirs = new Set(others.map(accountOf));
  const accounts = new Set(
    inventory.filter(({ kind, name }) => kind === 'ServiceAccount' && !theirs.has(name)).map(({ name }) => name),
  );
  const pods = await objects.list({ apiVersion: 'v1', kind: 'Pod' }, { namespace: driver.namespace });
  return pods.filter((pod) => {
    const { serviceAccountName = '' } = (pod['spec'] ?? {}) as { serviceAccountName?: string };
    return accounts.has(serviceAccountName);
  });
}

function accountOf(workload: KubeObject): string {
  const spec = workload['spec'] as { template?: { spec?: { serviceAccountName?: string } } } | undefined;
  return spec?.template?.spec?.serviceAccountName ?? '';
}

/** Takes the tool's finalizers off the objects of its kinds that are ours: without its controllers they would hang for ever. */
export async function releaseObjects(
  objects: Objects,
  driver: ToolDriver,
  inventory: readonly ObjectRef[],
  signal: AbortSignal,
): Promise<void> {
  for (const definition of inventory.filter(({ kind }) => kind === 'CustomResourceDefinition')) {
    for (const object of await objectsOf(objects, await objects.read(definition))) {
      signal.throwIfAborted();
      const { finalizers = [] } = object.metadata;
      const others = finalizers.filter((name) => !driver.finalizers.includes(name));
      if (others.length === finalizers.length || !isOurs(object, driver.tool)) continue;
      await objects.patch(refOf(object), { type: 'merge', body: { metadata: { finalizers: others } } }, FIELD_MANAGER);
    }
  }
}

/** Whoever deletes a definition deletes these. */
export async function othersObjectsOf(
  objects: Objects,
  driver: ToolDriver,
  definition: KubeObject,
): Promise<KubeObject[]> {
  return (await objectsOf(objects, definition)).filter((object) => !isOurs(object, driver.tool));
}

async function objectsOf(objects: Objects, definition: KubeObject | null): Promise<KubeObject[]> {
  const kind = definition && kindOf(definition['spec'] as DefinitionSpec);
  return kind ? objects.list(kind, { metadataOnly: true }) : [];
}
