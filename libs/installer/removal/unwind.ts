import { refOf, type KubeObject, type Objects, type ObjectRef } from '@fairlead/kube/rest';
import type { ToolDriver } from '../drivers/driver.js';
import { FIELD_MANAGER } from '../names.js';

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
    if (!live) continue;
    left = true;
    if (live.metadata.deletionTimestamp !== undefined) continue;
    await objects.patch(ref, { type: 'merge', body }, FIELD_MANAGER);
    await objects.remove(ref);
  }
  return left;
}

/** Lets our sources go of what they deployed, and deletes the controllers. */
export async function stopControllers(
  objects: Objects,
  driver: ToolDriver,
  inventory: readonly ObjectRef[],
): Promise<void> {
  for (const ref of inventory) {
    const body = driver.released(ref);
    if (body === null || !(await objects.read(ref))) continue;
    await objects.patch(ref, { type: 'merge', body }, FIELD_MANAGER);
  }
  for (const ref of inventory.filter(({ kind }) => WORKLOADS.has(kind))) await objects.remove(ref);
}

/** The pods that still run with an account of the tool. */
export async function toolPods(
  objects: Objects,
  driver: ToolDriver,
  inventory: readonly ObjectRef[],
): Promise<KubeObject[]> {
  const accounts = new Set(inventory.filter(({ kind }) => kind === 'ServiceAccount').map(({ name }) => name));
  const pods = await objects.list({ apiVersion: 'v1', kind: 'Pod' }, { namespace: driver.namespace });
  return pods.filter((pod) => {
    const { serviceAccountName = '' } = (pod['spec'] ?? {}) as { serviceAccountName?: string };
    return accounts.has(serviceAccountName);
  });
}

/** Takes the tool's finalizers off all objects of its kinds: with its definitions they would hang for ever. */
export async function releaseObjects(
  objects: Objects,
  driver: ToolDriver,
  inventory: readonly ObjectRef[],
  signal: AbortSignal,
): Promise<void> {
  for (const definition of inventory.filter(({ kind }) => kind === 'CustomResourceDefinition')) {
    for (const object of await objectsOf(objects, definition)) {
      signal.throwIfAborted();
      const { finalizers = [] } = object.metadata;
      const others = finalizers.filter((name) => !driver.finalizers.includes(name));
      if (others.length === finalizers.length) continue;
      await objects.patch(refOf(object), { type: 'merge', body: { metadata: { finalizers: others } } }, FIELD_MANAGER);
    }
  }
}

async function objectsOf(objects: Objects, definition: ObjectRef): Promise<KubeObject[]> {
  const live = await objects.read(definition);
  const spec = live?.['spec'] as
    | { group: string; names: { kind: string }; versions: { name: string; served: boolean }[] }
    | undefined;
  const version = spec?.versions.find(({ served }) => served)?.name;
  if (!spec || version === undefined) return [];
  return objects.list({ apiVersion: `${spec.group}/${version}`, kind: spec.names.kind }, { metadataOnly: true });
}
