import type { KubeObject } from '@fairlead/kube/rest';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readReport } from './testing/cluster.js';
import { bring, bundleOf, handOver, handoverOf, NAMESPACE, stateOf, gitopsSpecOf } from './testing/control-plane.js';
import { startInstalledCluster, type InstalledCluster } from './testing/installed-cluster.js';
import { smallBundle } from './testing/small-bundle.js';

const bundle = bundleOf(smallBundle());
let cluster: InstalledCluster;

beforeAll(async () => {
  const binding = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'fairlead-installer' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [],
  };
  cluster = await startInstalledCluster({ before: async ({ objects }) => void (await objects.create(binding)) });
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

const read = (apiVersion: string, kind: string, name: string): Promise<KubeObject | null> =>
  cluster.objects.read({ apiVersion, kind, name, namespace: 'flux-system' });

it('says which bundle it lacks, and installs it once the agent brought it', async () => {
  const { objects, authority } = cluster;
  const spec = gitopsSpecOf(bundle, { deployKey: { current: 1, next: null, currentReady: false, nextReady: false } });
  await handOver(objects, await handoverOf(authority, stateOf(1, spec)));
  const waiting = await cluster.report((report) => {
    expect(report).toMatchObject({ phase: 'waiting', observedRevision: 1, wantedBundle: bundle.reference.digest });
  });
  expect(waiting.publicKeys).toHaveLength(1);
  await bring(objects, bundle);
  await cluster.report((report) => {
    expect(report).toMatchObject({ appliedRevision: 1, bundleDigest: bundle.reference.digest, wantedBundle: null });
    expect(report).toMatchObject({ phase: 'waiting', problem: { code: 'DEPLOY_KEY_NOT_READY' } });
  });
  expect(await read('source.toolkit.fluxcd.io/v1', 'GitRepository', 'fairlead-catalog')).toBeNull();
});

it('follows the catalog once its key is there, and the tool works', async () => {
  await handOver(cluster.objects, await handoverOf(cluster.authority, stateOf(2, gitopsSpecOf(bundle))));
  const report = await cluster.report((report) => {
    expect(report).toMatchObject({ phase: 'healthy', appliedRevision: 2, problem: null });
  });
  expect(report).toMatchObject({ source: { ready: true }, sync: { ready: true }, publicKeys: [{ works: true }] });
  expect(report.functionalAt).not.toBeNull();
  expect(await read('kustomize.toolkit.fluxcd.io/v1', 'Kustomization', 'fairlead-catalog')).toMatchObject({
    metadata: { labels: { 'app.kubernetes.io/managed-by': 'fairlead' } },
    spec: { path: './clusters/demo', prune: true, serviceAccountName: 'kustomize-controller' },
  });
});

it('writes nothing where nothing differs', async () => {
  const before = await read('apps/v1', 'Deployment', 'source-controller');
  const { functionalAt } = await readReport(cluster.objects);
  // As soon as something else changes the report tells when it was last looked at: many looks later.
  await handOver(
    cluster.objects,
    await handoverOf(cluster.authority, stateOf(3, gitopsSpecOf(bundle, { holdRepairs: true }))),
  );
  await cluster.report((report) => {
    expect(report).toMatchObject({ phase: 'healthy', appliedRevision: 3 });
    expect(Date.parse(report.functionalAt ?? '')).toBeGreaterThanOrEqual(Date.parse(functionalAt ?? ''));
  });
  const after = await read('apps/v1', 'Deployment', 'source-controller');
  expect(after?.metadata).toEqual(before?.metadata);
});

it('is not brought back to an older revision by who deletes its Secret', async () => {
  const { objects, authority } = cluster;
  await cluster.stopInstaller();
  await objects.remove({ apiVersion: 'v1', kind: 'Secret', namespace: NAMESPACE, name: 'fairlead-installer-state' });
  await handOver(objects, await handoverOf(authority, stateOf(2, null, { remove: 'everything' })));
  cluster.startInstaller();
  await cluster.report((report) => {
    expect(report).toMatchObject({ phase: 'waiting', observedRevision: 3, problem: { code: 'STATE_AWAITED' } });
    expect(report.events.map(({ message }) => message).join('\n')).toContain('STATE_OLDER');
  });
  expect(await read('apps/v1', 'Deployment', 'source-controller')).not.toBeNull();
  await handOver(objects, await handoverOf(authority, stateOf(4, gitopsSpecOf(bundle))));
  await cluster.report((report) => expect(report).toMatchObject({ phase: 'healthy', appliedRevision: 4 }));
});
