import type { ObjectRef } from '@fairlead/kube/rest';
import { kubectlOf, type Kubectl } from '@fairlead/testbed';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { bundleOf, handOver, handoverOf, stateOf, gitopsSpecOf } from './testing/control-plane.js';
import { startInstalledCluster, type InstalledCluster } from './testing/installed-cluster.js';
import { smallBundle } from './testing/small-bundle.js';

// Of this cluster's controllers none lets go of anything: the finalizer that Flux sets is set here, and taken off where Flux would.
const FINALIZER = 'finalizers.fluxcd.io';
const PATIENCE = { timeoutMs: 60_000 };
const bundle = bundleOf(smallBundle());
const inFlux = (apiVersion: string, kind: string, name: string): ObjectRef => ({
  apiVersion,
  kind,
  namespace: 'flux-system',
  name,
});
const SYNC = inFlux('kustomize.toolkit.fluxcd.io/v1', 'Kustomization', 'fairlead-catalog');
const DEPLOYMENT = inFlux('apps/v1', 'Deployment', 'kustomize-controller');
const DEFINITION = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  name: 'kustomizations.kustomize.toolkit.fluxcd.io',
};
const FLUX = { apiVersion: 'v1', kind: 'Namespace', name: 'flux-system' };

let cluster: InstalledCluster;
let kubectl: Kubectl;

beforeAll(async () => {
  cluster = await startInstalledCluster({ bundle });
  kubectl = await kubectlOf(cluster.kubeconfigPath);
  await handOver(cluster.objects, await handoverOf(cluster.authority, stateOf(1, gitopsSpecOf(bundle))));
});
afterAll(() => cluster?.[Symbol.asyncDispose]());
beforeEach(async () => {
  await healthy();
  await setFinalizers([FINALIZER]);
});

const healthy = () => cluster.report((report) => expect(report).toMatchObject({ phase: 'healthy', problem: null }));
const uidOf = async (ref: ObjectRef): Promise<string | undefined> => (await cluster.objects.read(ref))?.metadata.uid;
const setFinalizers = (finalizers: readonly string[]): Promise<unknown> =>
  cluster.objects.patch(SYNC, { type: 'merge', body: { metadata: { finalizers } } }, 'kustomize-controller');

/** Another one than that of this uid is there. */
const isBack = (ref: ObjectRef, uid: string | undefined): Promise<void> =>
  eventually(async () => {
    const now = await uidOf(ref);
    expect(now).toBeDefined();
    expect(now).not.toBe(uid);
  }, PATIENCE);

it('who lets go of the objects of a deleted definition is made again before the definition is', async () => {
  const [definition, deployment] = [await uidOf(DEFINITION), await uidOf(DEPLOYMENT)];
  await cluster.objects.remove(DEFINITION);
  await cluster.objects.remove(DEPLOYMENT);
  await isBack(DEPLOYMENT, deployment);
  expect(await uidOf(DEFINITION)).toBe(definition);
  await setFinalizers([]);
  await isBack(DEFINITION, definition);
  await isBack(SYNC, undefined);
  await healthy();
});

it('a namespace that is deleted with the controllers in it is not held up by what they would let go of', async () => {
  const [namespace, sync] = [await uidOf(FLUX), await uidOf(SYNC)];
  await cluster.objects.remove(FLUX);
  // As the controller of namespaces would do.
  await cluster.objects.remove(SYNC);
  await eventually(async () => expect(await uidOf(SYNC)).not.toBe(sync), PATIENCE);
  const finalized = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: FLUX.name }, spec: { finalizers: [] } };
  const path = `/api/v1/namespaces/${FLUX.name}/finalize`;
  const { code, stderr } = await kubectl(['replace', '--raw', path, '-f', '-'], JSON.stringify(finalized));
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  await isBack(FLUX, namespace);
  await isBack(SYNC, sync);
  await healthy();
});
