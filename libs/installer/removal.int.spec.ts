import { refOf, type KubeObject, type ObjectRef } from '@fairlead/kube/rest';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { TestCluster } from './testing/cluster.js';
import { bundleOf, handOver, handoverOf, stateOf, gitopsSpecOf } from './testing/control-plane.js';
import { startInstalledCluster, type InstalledCluster } from './testing/installed-cluster.js';
import { smallBundle } from './testing/small-bundle.js';

const bundle = bundleOf(smallBundle());
const CONTROLLER: ObjectRef = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  namespace: 'flux-system',
  name: 'source-controller',
};
/** Somebody's own, of a Flux that was there before us. */
const THEIRS = {
  apiVersion: 'source.toolkit.fluxcd.io/v1',
  kind: 'GitRepository',
  metadata: { name: 'theirs', namespace: 'flux-system', finalizers: ['finalizers.fluxcd.io'] },
  spec: { url: 'ssh://git@git.example.com/their/own.git', interval: '1m' },
};
let cluster: InstalledCluster;

beforeAll(async () => {
  const before = async ({ objects }: TestCluster): Promise<void> => {
    const manifest = parseAllDocuments(smallBundle()).map((document) => document.toJS() as KubeObject);
    for (const object of [...manifest, THEIRS]) {
      // The kind of the last one is served a moment after its definition is there.
      await eventually(() => objects.apply(object, { fieldManager: 'somebody' }));
    }
  };
  cluster = await startInstalledCluster({ bundle, before });
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

async function want(revision: number): Promise<void> {
  await handOver(cluster.objects, await handoverOf(cluster.authority, stateOf(revision, gitopsSpecOf(bundle))));
}

async function removeTool(revision: number): Promise<void> {
  await handOver(cluster.objects, await handoverOf(cluster.authority, stateOf(revision, null, { remove: 'tool' })));
  await cluster.report((report) => expect(report).toMatchObject({ phase: 'off', appliedRevision: revision }));
}

const uidOf = async (ref: ObjectRef): Promise<string | undefined> => (await cluster.objects.read(ref))?.metadata.uid;

async function theirsIsWhole(): Promise<void> {
  expect(await cluster.objects.read(refOf(THEIRS))).toMatchObject({
    metadata: { finalizers: ['finalizers.fluxcd.io'] },
  });
}

it('what never became ours stays, though a first application named it', async () => {
  const before = await uidOf(CONTROLLER);
  const namespace = { apiVersion: 'v1', kind: 'Namespace', name: 'flux-system' };
  for (const object of freeze()) await cluster.objects.create(object);
  await eventually(async () => {
    const change = { type: 'merge', body: { metadata: { annotations: { a: 'change' } } } } as const;
    await expect(cluster.objects.patch(namespace, change, 'somebody')).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });
  await want(1);
  await cluster.report(({ problem }) => expect(problem?.code).toBe('APPLY_FORBIDDEN'));
  await removeTool(2);
  expect(await uidOf(CONTROLLER)).toBe(before);
  expect(
    await uidOf({ apiVersion: 'v1', kind: 'ServiceAccount', namespace: 'flux-system', name: 'source-controller' }),
  ).toBeDefined();
  await theirsIsWhole();
  for (const object of freeze()) await cluster.objects.remove(refOf(object));
});

it('after a whole application the tool goes, but neither its kinds nor the namespace that others need', async () => {
  await want(3);
  await cluster.report((report) => expect(report).toMatchObject({ phase: 'healthy', appliedRevision: 3 }));
  await removeTool(4);
  expect(await uidOf(CONTROLLER)).toBeUndefined();
  expect(await cluster.objects.read({ ...refOf(THEIRS), name: 'fairlead-catalog' })).toBeNull();
  const kustomizations = { apiVersion: 'kustomize.toolkit.fluxcd.io/v1', kind: 'Kustomization' };
  expect(await cluster.objects.list(kustomizations)).toEqual([]);
  const namespace = await cluster.objects.read({ apiVersion: 'v1', kind: 'Namespace', name: 'flux-system' });
  expect(namespace?.metadata.deletionTimestamp).toBeUndefined();
  expect(namespace?.metadata.labels).not.toHaveProperty('app.kubernetes.io/managed-by');
  await theirsIsWhole();
});

/** Lets nobody change a namespace: the application stops before accounts and workloads. */
function freeze(): KubeObject[] {
  const admission = 'admissionregistration.k8s.io/v1';
  const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['namespaces'] };
  return [
    {
      apiVersion: admission,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: 'freeze' },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: { resourceRules: [rule] },
        validations: [{ expression: 'false', message: 'no changes today' }],
      },
    },
    {
      apiVersion: admission,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: 'freeze' },
      spec: { policyName: 'freeze', validationActions: ['Deny'] },
    },
  ];
}
