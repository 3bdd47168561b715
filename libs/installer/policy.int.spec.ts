import { refOf, type KubeObject, type ObjectRef } from '@fairlead/kube/rest';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bundleOf, handOver, handoverOf, stateOf, gitopsSpecOf } from './testing/control-plane.js';
import { startInstalledCluster, type InstalledCluster } from './testing/installed-cluster.js';
import { smallBundle } from './testing/small-bundle.js';

const bundle = bundleOf(smallBundle());
const catalog = {
  apiVersion: 'kustomize.toolkit.fluxcd.io/v1',
  kind: 'Kustomization',
  namespace: 'flux-system',
  name: 'fairlead-catalog',
};
let cluster: InstalledCluster;

beforeAll(async () => {
  cluster = await startInstalledCluster({ bundle });
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

async function want(revision: number, more: Parameters<typeof gitopsSpecOf>[1] = {}): Promise<void> {
  await handOver(cluster.objects, await handoverOf(cluster.authority, stateOf(revision, gitopsSpecOf(bundle, more))));
}

const healthy = (revision: number) =>
  cluster.report((report) => expect(report).toMatchObject({ phase: 'healthy', appliedRevision: revision }));

/** Without a `reason` the API server answers 422, as for an object that is invalid. */
const FREEZE: KubeObject[] = [
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'freeze' },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: ['kustomize.toolkit.fluxcd.io'],
            apiVersions: ['*'],
            operations: ['UPDATE'],
            resources: ['kustomizations'],
          },
        ],
      },
      validations: [{ expression: 'false', message: 'no changes today: field is immutable' }],
    },
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: 'freeze' },
    spec: { policyName: 'freeze', validationActions: ['Deny'] },
  },
];

it('a policy that allows no changes is reported, and nothing is deleted to get round it', async () => {
  await want(1);
  await healthy(1);
  for (const object of FREEZE) await cluster.objects.create(object);
  const before = await cluster.objects.read(catalog);
  await eventually(async () => {
    const { namespace, name, ...kind } = catalog;
    const change = { ...kind, metadata: { namespace, name, annotations: { some: 'change' } } };
    await expect(cluster.objects.apply(change, { fieldManager: 'somebody', dryRun: true })).rejects.toMatchObject({
      details: { httpStatus: 422 },
    });
  });
  await want(2, { suspend: true });
  await cluster.report(({ problem }) => expect(problem?.code).toBe('APPLY_FORBIDDEN'));
  expect((await cluster.objects.read(catalog))?.metadata.uid).toBe(before?.metadata.uid);
  for (const object of FREEZE) await cluster.objects.remove(refOf(object));
  await healthy(2);
  expect((await cluster.objects.read(catalog))?.metadata.uid).toBe(before?.metadata.uid);
});

it('what lets the tool follow less does not wait for a Deployment that a policy refuses', async () => {
  const [policy, binding] = FREEZE.map((object) => ({ ...object, metadata: { name: 'no-deployments' } }));
  const rule = { apiGroups: ['apps'], apiVersions: ['*'], operations: ['UPDATE'], resources: ['deployments'] };
  const none = { matchConstraints: { resourceRules: [rule] }, validations: [{ expression: 'false' }] };
  await cluster.objects.create({ ...(policy as KubeObject), spec: none });
  const spec = { policyName: 'no-deployments', validationActions: ['Deny'] };
  await cluster.objects.create({ ...(binding as KubeObject), spec });
  const deployment = { apiVersion: 'apps/v1', kind: 'Deployment' };
  const change = { metadata: { annotations: { some: 'change' } } };
  await eventually(async () => {
    const ref = { ...deployment, namespace: 'flux-system', name: 'source-controller' };
    await expect(cluster.objects.patch(ref, { type: 'merge', body: change }, 'somebody')).rejects.toMatchObject({
      details: { httpStatus: 422 },
    });
  });
  const { source } = gitopsSpecOf(bundle);
  const keys = [{ name: 'ada', publicKey: '-----BEGIN PGP PUBLIC KEY BLOCK-----\nnone\n' }];
  const verified = source && { ...source, branch: 'other', verification: { type: 'gpg' as const, keys } };
  const images = { rewrite: [{ from: 'ghcr.io', to: 'registry.example.com' }], pullSecret: null };
  await want(3, { suspend: false, source: verified, images });
  // The turn before may have met the policy as well, in a repair of its own.
  await cluster.report(({ observedRevision, problem }) =>
    expect([observedRevision, problem?.code]).toEqual([3, 'APPLY_FORBIDDEN']),
  );
  const repository = {
    apiVersion: 'source.toolkit.fluxcd.io/v1',
    kind: 'GitRepository',
    namespace: 'flux-system',
    name: 'fairlead-catalog',
  };
  const specOf = async (ref: ObjectRef): Promise<unknown> => (await cluster.objects.read(ref))?.['spec'];
  // It demands signatures at once; where it gets its commits from, and that it goes on, comes in order.
  expect(await specOf(repository)).toMatchObject({ verify: { mode: 'HEAD' }, ref: { branch: 'main' }, suspend: true });
  for (const object of [binding, policy]) await cluster.objects.remove(refOf(object as KubeObject));
  await healthy(3);
  expect(await specOf(repository)).toMatchObject({
    verify: { mode: 'HEAD' },
    ref: { branch: 'other' },
    suspend: false,
  });
});
