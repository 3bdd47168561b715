import type { KubeObject } from '@fairlead/kube/rest';
import { eventually } from '@fairlead/testing';
import { describe, expect, it } from 'vitest';
import { ARGO, HOSTS, inArgocd, SOME_ACCOUNT, TRUSTED, useArgocdCluster } from './testing/argocd-cluster.js';
import {
  additionsAreTakenAway,
  CATALOG,
  CATALOG_SECRET,
  ELSEWHERE,
  INSECURE,
  onlyTheFrozenIsRestarted,
  trustIsPutBack,
} from './testing/argocd-damages.js';
import { readReport } from './testing/cluster.js';

const argocd = useArgocdCluster();
const { want, healthy, read, lastSequence, appliedSince } = argocd;

it('installs Argo CD in a namespace that it makes, and proves that it works before there is anything to follow', async () => {
  await want({ source: null });
  const { functionalAt } = await healthy({ source: null });
  expect(functionalAt).not.toBeNull();
  expect(await read('apps/v1', 'StatefulSet', 'argocd-application-controller')).not.toBeNull();
  expect((await read('v1', 'ConfigMap', HOSTS))?.['data']).toEqual({ ssh_known_hosts: '' });
});

it('follows the catalog, trusting the approved host keys and no others', async () => {
  await want();
  await healthy({ source: expect.objectContaining({ ready: true }) as unknown });
  expect((await readReport(argocd.cluster.objects)).sync).toMatchObject({
    ready: true,
    revision: 'main@sha1:0123456789abcdef0123456789abcdef01234567',
  });
  expect((await read('v1', 'ConfigMap', HOSTS))?.['data']).toEqual(TRUSTED);
});

it('tries the next key beside the current one', async () => {
  await want({ deployKey: { current: 1, next: 2, currentReady: true, nextReady: true } });
  await argocd.cluster.report(({ publicKeys }) =>
    expect(publicKeys).toMatchObject([
      { number: 1, works: true },
      { number: 2, works: true },
    ]),
  );
  // It goes all the same: what follows a repository is nobody else's to keep.
  const kept = {
    type: 'merge',
    body: { metadata: { annotations: { 'fairlead.dev/reconcile': 'disabled' } } },
  } as const;
  await argocd.cluster.objects.patch(inArgocd(ARGO, 'Application', 'fairlead-probe'), kept, 'kubectl-annotate');
  await want({ deployKey: { current: 2, next: null, currentReady: true, nextReady: false } });
  await healthy();
  expect(await read(ARGO, 'Application', 'fairlead-probe')).toBeNull();
  expect(await read('v1', 'Secret', 'fairlead-probe')).toBeNull();
});

describe('what is changed', () => {
  it('of whom it trusts is put back, though it was changed through Argo CD itself', () =>
    expect(trustIsPutBack(argocd, 'argocd-server')).resolves.toBeUndefined());

  it('is taken away where somebody adds to what trusts or follows, under whatever name', async () => {
    await healthy();
    await argocd.cluster.objects.patch(CATALOG_SECRET, INSECURE, 'argocd-server');
    await argocd.cluster.objects.patch(CATALOG, ELSEWHERE, 'helm');
    await expect(additionsAreTakenAway(argocd)).resolves.toBeUndefined();
  });
});

it('what is trusted is put back where nothing else is repaired, while the fleet holds repairs', async () => {
  const hosts = inArgocd('v1', 'ConfigMap', HOSTS);
  const edit = { type: 'merge', body: { data: { ssh_known_hosts: 'git.example.com ssh-ed25519 AAAA\n' } } } as const;
  const soon = { timeoutMs: 30_000 };
  const trusted = async () => expect((await argocd.cluster.objects.read(hosts))?.['data']).toEqual(TRUSTED);
  await want({ deployKey: { current: 2, next: null, currentReady: true, nextReady: false }, holdRepairs: true });
  await healthy();
  const before = await lastSequence();
  await argocd.cluster.objects.remove(SOME_ACCOUNT);
  for (const _again of [1, 2]) {
    await argocd.cluster.objects.patch(hosts, edit, 'argocd-server');
    await eventually(trusted, soon);
  }
  await argocd.cluster.report(({ phase }) => expect(phase).toBe('degraded'));
  const told = Array<string>(2).fill(`ConfigMap argocd/${HOSTS}`);
  await eventually(async () => expect(await appliedSince(before)).toEqual(told), { timeoutMs: 30_000 });
  expect(await argocd.cluster.objects.read(SOME_ACCOUNT)).toBeNull();
  await want({ deployKey: { current: 2, next: null, currentReady: true, nextReady: false } });
  await healthy();
});

describe('the project `default`', () => {
  const ref = inArgocd(ARGO, 'AppProject', 'default');
  const open = { sourceRepos: ['*'], destinations: [{ server: '*', namespace: '*' }], namespaceResourceBlacklist: [] };
  const spec = async (): Promise<unknown> => (await argocd.cluster.objects.read(ref))?.['spec'];
  /** As Argo CD deploys it from the catalog, and puts it back each time. */
  const deploy = async (): Promise<void> => {
    const metadata = {
      annotations: { 'argocd.argoproj.io/tracking-id': 'fairlead-catalog:argoproj.io/AppProject:argocd/default' },
    };
    await argocd.cluster.objects.patch(ref, { type: 'merge', body: { metadata, spec: open } }, 'argocd-controller');
  };
  const inCatalog = (resources: readonly unknown[]): Promise<KubeObject> =>
    argocd.cluster.objects.patch(
      CATALOG,
      { type: 'merge', body: { status: { resources } } },
      'argocd-application-controller',
    );

  it('is left to a catalog that holds it, which is told, and costs no repairs; and is locked again once it does not', async () => {
    await healthy();
    await inCatalog([{ group: 'argoproj.io', kind: 'AppProject', namespace: 'argocd', name: 'default' }]);
    const before = await lastSequence();
    await deploy();
    await healthy({ problem: expect.objectContaining({ code: 'CATALOG_CONFLICT' }) as unknown });
    // Whatever else is wrong is repaired meanwhile.
    await argocd.cluster.objects.remove(SOME_ACCOUNT);
    await eventually(async () => expect(await argocd.cluster.objects.read(SOME_ACCOUNT)).not.toBeNull(), {
      timeoutMs: 30_000,
    });
    await healthy({ problem: expect.objectContaining({ code: 'CATALOG_CONFLICT' }) as unknown });
    expect(await spec()).toMatchObject(open);
    const repaired = ['ServiceAccount argocd/argocd-repo-server'];
    await eventually(async () => expect(await appliedSince(before)).toEqual(repaired), { timeoutMs: 30_000 });
    await inCatalog([]);
    await eventually(async () => expect(await spec()).toMatchObject({ sourceRepos: [], destinations: [] }), {
      timeoutMs: 30_000,
    });
    await healthy();
  });
});

it('a controller that runs and does nothing is restarted, and no other', () =>
  expect(
    onlyTheFrozenIsRestarted(argocd, 'argocd-repo-server', 'Deployment argocd/argocd-repo-server'),
  ).resolves.toBeUndefined());

describe('removal', () => {
  it('of everything has Argo CD delete what it deployed first, and leaves nothing of ours', async () => {
    // As its Redis makes it for itself.
    await argocd.cluster.objects.create({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'argocd-redis', namespace: 'argocd' },
    });
    await want({ suspend: true });
    await healthy();
    argocd.cluster.standIn.frozen.add('argocd-application-controller');
    await argocd.wantRemovalOfEverything();
    await argocd.cluster.report(({ problem }) => expect(problem?.code).toBe('REMOVAL_WAITS'));
    const waiting = await read(ARGO, 'Application', 'fairlead-catalog');
    expect(waiting?.metadata).toMatchObject({ finalizers: ['resources-finalizer.argocd.argoproj.io'] });
    expect(waiting?.metadata.annotations ?? {}).not.toHaveProperty('argocd.argoproj.io/skip-reconcile');
    argocd.cluster.standIn.frozen.delete('argocd-application-controller');
    await argocd.off();
    const labelSelector = 'app.kubernetes.io/managed-by=fairlead,fairlead.dev/bundle';
    for (const [apiVersion = '', kind = ''] of [
      ['apiextensions.k8s.io/v1', 'CustomResourceDefinition'],
      ['rbac.authorization.k8s.io/v1', 'ClusterRole'],
      ['v1', 'Secret'],
      ['v1', 'ConfigMap'],
      ['apps/v1', 'StatefulSet'],
      ['apps/v1', 'Deployment'],
    ]) {
      expect(await argocd.cluster.objects.list({ apiVersion, kind }, { labelSelector, namespace: 'argocd' })).toEqual(
        [],
      );
    }
    const namespace = await argocd.cluster.objects.read({ apiVersion: 'v1', kind: 'Namespace', name: 'argocd' });
    expect(namespace?.metadata.deletionTimestamp ?? null).not.toBeNull();
  });
});
