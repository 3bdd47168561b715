import { createHash } from 'node:crypto';
import { createInterface } from 'node:readline';
import { readManifest, type ManifestObject } from '@fairlead/desired-state/manifest';
import { fluxInstallManifest, podProcesses, type Kubectl } from '@fairlead/testbed';
import type { World } from './world.js';

/** A bundle that a cluster is upgraded to. */
export interface Upgrade {
  readonly version: string;
  /** Of its kustomize-controller. */
  readonly argument: string;
  /** ConfigMaps that are new in it, in the order in which they are applied: a process can be killed between the first and the last. */
  readonly added: readonly string[];
}

/** What the next bundles have no more. */
export const DROPPED = 'flux-view';
const UPGRADED = 'kustomize-controller';
const names = (prefix: string): string[] =>
  Array.from({ length: 30 }, (_, at) => `${prefix}-${String(at).padStart(2, '0')}`);

export const FIRST_UPGRADE: Upgrade = { version: 'v2.3.1', argument: '--log-level=error', added: names('upgrade') };
export const SECOND_UPGRADE: Upgrade = { version: 'v2.3.2', argument: '--log-level=debug', added: names('again') };

/**
 * Imports the next bundle: another argument of one controller, ConfigMaps that are applied before it, and one object less. The other
 * controller stays as it is: what it fetched is at the address of its pod here, and there would be nobody for as long as Flux tries
 * that again, which is minutes. Resolves to its digest.
 */
export async function importBundle({ api }: Pick<World, 'api'>, upgrade: Upgrade): Promise<string> {
  const objects: ManifestObject[] = [...readManifest(await fluxInstallManifest())].filter(
    ({ metadata }) => metadata.name !== DROPPED,
  );
  for (const name of upgrade.added) {
    objects.push({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'flux-system' }, data: {} });
  }
  const yaml = objects.map((object) => changed(object, upgrade)).join('\n---\n');
  const digest = createHash('sha256').update(yaml).digest('hex');
  await api.upload(`/v1/bundles/flux/${upgrade.version}?digest=${digest}&origin=next.yaml`, 'application/yaml', yaml);
  return digest;
}

/** Kills our own pods' processes as soon as the first object of the next bundle is there. Resolves to the ConfigMaps that are there then. */
export async function killHalfWay(
  world: Pick<World, 'kubectl'>,
  kubectl: Kubectl,
  { added }: Upgrade,
  begin: () => Promise<void>,
): Promise<string[]> {
  const ours = await podProcesses(kubectl, 'fairlead-system', 'app.kubernetes.io/component in (installer, agent)');
  if (ours.length !== 3) throw new Error(`not two agents and an installer: ${JSON.stringify(ours)}`);
  const child = kubectl.start(['get', 'configmaps', '-n', 'flux-system', '--watch', '-o', 'name']);
  child.stderr.resume();
  try {
    await begin();
    for await (const line of createInterface({ input: child.stdout })) if (line === `configmap/${added[0]}`) break;
    for (const { pid } of ours) process.kill(pid, 'SIGKILL');
  } finally {
    child.kill('SIGKILL');
  }
  return configMaps(world);
}

/** As JSON, which is YAML. */
function changed(object: ManifestObject, { argument }: Upgrade): string {
  const text = JSON.stringify(object);
  return object.kind === 'Deployment' && object.metadata.name === UPGRADED
    ? text.replace('--log-level=info', argument)
    : text;
}

async function configMaps({ kubectl }: Pick<World, 'kubectl'>): Promise<string[]> {
  const text = await kubectl(['get', 'configmaps', '-n', 'flux-system', '-o', 'name']);
  return text.split('\n').map((name) => name.replace('configmap/', ''));
}
