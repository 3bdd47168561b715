import { keyOf, refOf, type KubeObject } from '@fairlead/kube/rest';
import { expect } from 'vitest';
import type { World } from './world.js';

type Kube = Pick<World, 'kubectl'>;

/** Everything that the installer applied and that is there, as the cluster has it: of the bundle, and what follows the repository. */
export async function oursIn({ kubectl }: Kube): Promise<KubeObject[]> {
  const kinds = (await kubectl(['api-resources', '--verbs=list,delete', '-o', 'name'])).split('\n').filter(Boolean);
  const labels = 'app.kubernetes.io/managed-by=fairlead,fairlead.dev/bundle';
  const wish = ['get', kinds.join(','), '--all-namespaces', '-l', labels, '-o', 'json', '--show-managed-fields'];
  const { items } = JSON.parse(await kubectl(wish)) as { items: KubeObject[] };
  // Kubernetes copies labels: those of a Service to its endpoints.
  const applied = items.filter(({ metadata }) =>
    metadata.managedFields?.some(({ manager, operation }) => manager === 'fairlead-installer' && operation === 'Apply'),
  );
  return [...new Map(applied.map((object) => [keyOf(refOf(object)), object])).values()];
}

/** The first object of each kind. */
export function oneOfEachKind(objects: readonly KubeObject[]): KubeObject[] {
  const first = new Map<string, KubeObject>();
  for (const object of objects) if (!first.has(object.kind)) first.set(object.kind, object);
  return [...first.values()];
}

/** Deletes all of them at once, and waits for none to be gone. */
export async function deleteAll({ kubectl }: Kube, objects: readonly KubeObject[]): Promise<void> {
  await kubectl(['delete', '--wait=false', '--ignore-not-found', '-f', '-'], listOf(objects));
}

/** Throws until another one is there in the place of each of them. */
export async function allAreBack({ kubectl }: Kube, objects: readonly KubeObject[]): Promise<void> {
  const text = await kubectl(['get', '-f', '-', '-o', 'json', '--ignore-not-found'], listOf(objects));
  // One alone is no list.
  const answer = (text === '' ? null : JSON.parse(text)) as KubeObject | null;
  const found = answer?.kind === 'List' ? (answer['items'] as KubeObject[]) : answer === null ? [] : [answer];
  const before = new Map(objects.map((object) => [keyOf(refOf(object)), object.metadata.uid]));
  const missing = new Set(before.keys());
  for (const object of found) {
    const key = keyOf(refOf(object));
    if (object.metadata.uid !== before.get(key) && object.metadata.deletionTimestamp === undefined) missing.delete(key);
  }
  expect([...missing]).toEqual([]);
}

/** For kubectl: they are named, and no more. */
function listOf(objects: readonly KubeObject[]): string {
  const items = objects.map(({ apiVersion, kind, metadata: { name, namespace } }) => ({
    apiVersion,
    kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
  }));
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
}
