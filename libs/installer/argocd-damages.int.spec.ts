// @tier full: every other change to what Argo CD trusts and follows; libs/installer/argocd-driver shows that each kind is repaired
import { eventually } from '@fairlead/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import type { KubeObject } from '@fairlead/kube/rest';
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

beforeAll(async () => {
  await want({ deployKey: { current: 2, next: null, currentReady: true, nextReady: false } });
  await healthy();
});

describe('what is changed', () => {
  it('of whom it trusts is put back, where it was done by hand', () =>
    expect(trustIsPutBack(argocd, 'kubectl-edit')).resolves.toBeUndefined());

  const soon = { timeoutMs: 30_000 };

  it.each([
    ['kubelet', 'kube-controller-manager'],
    ['kube-apiserver', 'clusterrole-aggregation-controller'],
    ['fairlead-installer', 'fairlead-installer'],
  ])('is taken away where somebody adds to what trusts or follows, under whatever name: %s, %s', async (one, other) => {
    await healthy();
    await argocd.cluster.objects.patch(CATALOG_SECRET, INSECURE, one);
    await argocd.cluster.objects.patch(CATALOG, ELSEWHERE, other);
    await expect(additionsAreTakenAway(argocd)).resolves.toBeUndefined();
  });

  it.each<[string, (live: KubeObject) => readonly unknown[]]>([
    ['strips all of the history', () => [{}]],
    [
      'strips himself of it',
      ({ metadata }) => (metadata.managedFields ?? []).filter(({ manager }) => manager !== 'me'),
    ],
    [
      'strips us of it',
      ({ metadata }) => (metadata.managedFields ?? []).filter(({ operation }) => operation !== 'Apply'),
    ],
  ])('is taken away where somebody adds to it and %s', async (_what, history) => {
    await healthy();
    // Between two looks, or it is seen before it is stripped.
    for (const [ref, change] of [
      [CATALOG_SECRET, INSECURE],
      [CATALOG, ELSEWHERE],
    ] as const) {
      await eventually(async () => {
        const changed = await argocd.cluster.objects.patch(ref, change, 'me');
        const test = { op: 'test', path: '/metadata/resourceVersion', value: changed.metadata.resourceVersion };
        const replace = { op: 'replace', path: '/metadata/managedFields', value: history(changed) };
        await argocd.cluster.objects.patch(ref, { type: 'json', body: [test, replace] }, 'me');
      });
    }
    await expect(additionsAreTakenAway(argocd)).resolves.toBeUndefined();
    await healthy();
    expect((await argocd.cluster.objects.read(CATALOG_SECRET))?.metadata.managedFields).toMatchObject([
      { manager: 'fairlead-installer' },
    ]);
  });

  it('is made anew where somebody froze it', async () => {
    await healthy();
    const hosts = inArgocd('v1', 'ConfigMap', HOSTS);
    const before = await Promise.all([hosts, CATALOG_SECRET].map((ref) => argocd.cluster.objects.read(ref)));
    const data = { ssh_known_hosts: 'git.example.com ssh-ed25519 AAAA\n' };
    await argocd.cluster.objects.patch(hosts, { type: 'merge', body: { immutable: true, data } }, 'argocd-server');
    // None of our values, so that the server would take our apply.
    await argocd.cluster.objects.patch(
      CATALOG_SECRET,
      { type: 'merge', body: { ...INSECURE.body, immutable: true } },
      'kubectl-patch',
    );
    await eventually(async () => expect((await argocd.cluster.objects.read(hosts))?.['data']).toEqual(TRUSTED), soon);
    await expect(additionsAreTakenAway(argocd)).resolves.toBeUndefined();
    await healthy();
    for (const was of before) {
      const now = was && (await argocd.cluster.objects.read({ ...was, ...was.metadata, namespace: 'argocd' }));
      expect(now?.metadata.uid).not.toBe(was?.metadata.uid);
      expect(now).not.toHaveProperty('immutable');
    }
  });

  it('is put back where somebody has the catalog followed no more, or what trusts left alone', async () => {
    await healthy();
    const annotate = (annotations: Record<string, string>) =>
      ({ type: 'merge', body: { metadata: { annotations } } }) as const;
    const stop = {
      'argocd.argoproj.io/skip-reconcile': 'true',
      'argocd.argoproj.io/manifest-generate-paths': '/nowhere',
    };
    await argocd.cluster.objects.patch(
      CATALOG,
      annotate({ ...stop, 'fairlead.dev/reconcile': 'disabled' }),
      'argocd-server',
    );
    await argocd.cluster.objects.patch(
      CATALOG_SECRET,
      annotate({ 'fairlead.dev/reconcile': 'disabled' }),
      'kubectl-annotate',
    );
    await argocd.cluster.objects.patch(CATALOG_SECRET, INSECURE, 'kubectl-patch');
    await expect(additionsAreTakenAway(argocd)).resolves.toBeUndefined();
    await eventually(async () =>
      expect((await argocd.cluster.objects.read(CATALOG))?.metadata.annotations).toMatchObject({
        'argocd.argoproj.io/skip-reconcile': 'false',
        'argocd.argoproj.io/manifest-generate-paths': '',
      }),
    );
    // What else is noted of them stays.
    const noted = (await argocd.cluster.objects.read(CATALOG_SECRET))?.metadata.annotations;
    expect(noted).toHaveProperty(['fairlead.dev/reconcile'], 'disabled');
    // A removal leaves what is annotated so.
    for (const ref of [CATALOG, CATALOG_SECRET]) {
      const none = { type: 'merge', body: { metadata: { annotations: { 'fairlead.dev/reconcile': null } } } } as const;
      await argocd.cluster.objects.patch(ref, none, 'kubectl-annotate');
    }
  });

  it('of status, operation, finalizers, labels and annotations of others stays', async () => {
    await healthy();
    const noted = {
      metadata: {
        finalizers: ['post-delete-finalizer.argocd.argoproj.io'],
        labels: { team: 'a' },
        annotations: { b: 'c' },
      },
      operation: { sync: { revision: 'main' } },
      status: { summary: { images: ['a'] } },
    };
    await argocd.cluster.objects.patch(CATALOG, { type: 'merge', body: noted }, 'argocd-server');
    await argocd.cluster.objects.patch(
      CATALOG,
      { type: 'json', body: [{ op: 'add', path: '/metadata/labels/x', value: 'y' }] },
      'kubelet',
    );
    const before = await argocd.cluster.objects.read(CATALOG);
    await argocd.cluster.objects.patch(CATALOG_SECRET, INSECURE, 'me');
    await expect(additionsAreTakenAway(argocd)).resolves.toBeUndefined();
    await healthy();
    const after = await argocd.cluster.objects.read(CATALOG);
    expect(after).toMatchObject(noted);
    expect(after?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);
    const none = { metadata: { finalizers: null, labels: { team: null, x: null } }, operation: null };
    await argocd.cluster.objects.patch(CATALOG, { type: 'merge', body: none }, 'argocd-server');
  });

  it('in a Secret that the manifest leaves empty stays, while the rest is repaired', async () => {
    const password = { data: { 'admin.password': 'c2VjcmV0' } };
    await argocd.cluster.objects.patch(
      inArgocd('v1', 'Secret', 'argocd-secret'),
      { type: 'merge', body: password },
      'kubectl-patch',
    );
    await argocd.cluster.objects.remove(SOME_ACCOUNT);
    await eventually(async () => expect(await argocd.cluster.objects.read(SOME_ACCOUNT)).not.toBeNull(), {
      timeoutMs: 30_000,
    });
    await healthy();
    expect(await read('v1', 'Secret', 'argocd-secret')).toMatchObject(password);
  });
});

describe('what is trusted is put back where nothing else is repaired', () => {
  const hosts = inArgocd('v1', 'ConfigMap', HOSTS);
  const edit = { type: 'merge', body: { data: { ssh_known_hosts: 'git.example.com ssh-ed25519 AAAA\n' } } } as const;
  const soon = { timeoutMs: 30_000 };
  const trusted = async () => expect((await argocd.cluster.objects.read(hosts))?.['data']).toEqual(TRUSTED);

  it('though another one of it cannot be written', async () => {
    const deployKey = { current: 2, next: null, currentReady: true, nextReady: false };
    await want({ deployKey, holdRepairs: true });
    await healthy();
    const keep = (finalizers: readonly string[]) => ({ type: 'merge', body: { metadata: { finalizers } } }) as const;
    await argocd.cluster.objects.patch(hosts, keep(['example.com/kept']), 'me');
    await argocd.cluster.objects.remove(hosts);
    const open = { type: 'merge', body: { spec: { sourceRepos: ['*'] } } } as const;
    await argocd.cluster.objects.patch(inArgocd(ARGO, 'AppProject', 'default'), open, 'argocd-server');
    await eventually(
      async () => expect((await read(ARGO, 'AppProject', 'default'))?.['spec']).toMatchObject({ sourceRepos: [] }),
      soon,
    );
    expect((await argocd.cluster.objects.read(hosts))?.metadata.deletionTimestamp).toBeDefined();
    await argocd.cluster.objects.patch(hosts, keep([]), 'me');
    await eventually(trusted, soon);
    await want({ deployKey });
    await healthy();
  });

  it('when the repairs of the hour are spent', async () => {
    await argocd.cluster.stopInstaller();
    argocd.cluster.startInstaller({ ladder: { repairsPerHour: 0 } });
    await healthy();
    await argocd.cluster.objects.remove(SOME_ACCOUNT);
    await argocd.cluster.report(({ phase }) => expect(phase).toBe('escalated'));
    await argocd.cluster.objects.patch(hosts, edit, 'kubectl-edit');
    await eventually(trusted, soon);
    expect(await argocd.cluster.objects.read(SOME_ACCOUNT)).toBeNull();
    await argocd.cluster.stopInstaller();
    argocd.cluster.startInstaller();
    // Something else is wanted: that is no repair, and is not counted.
    const deployKey = { current: 2, next: null, currentReady: true, nextReady: false };
    await want({ deployKey, suspend: true });
    await healthy();
    await want({ deployKey });
    await healthy();
  });

  it('but not where repairs are not wanted', async () => {
    const deployKey = { current: 2, next: null, currentReady: true, nextReady: false };
    await want({ deployKey, selfHeal: 'observe' });
    await healthy();
    await argocd.cluster.objects.patch(hosts, edit, 'kubectl-edit');
    await argocd.cluster.report(({ phase }) => expect(phase).toBe('degraded'));
    expect((await argocd.cluster.objects.read(hosts))?.['data']).not.toEqual(TRUSTED);
    await want({ deployKey });
    await eventually(trusted, soon);
    await healthy();
  });
});

it('what keeps a commit from being tried again keeps nobody from hearing that it failed', async () => {
  const name = 'no-retry';
  const policy = { apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingAdmissionPolicy' };
  const binding = { ...policy, kind: 'ValidatingAdmissionPolicyBinding' };
  const resources = [
    { apiGroups: ['argoproj.io'], apiVersions: ['*'], operations: ['UPDATE'], resources: ['applications'] },
  ];
  // Whoever forgets that it failed, asks for it again. The other one is there to be tried.
  const forgets = `object.metadata.name == 'fairlead-catalog' && oldObject.status.operationState.phase == 'Failed' && !has(object.status.operationState)`;
  const tried = `has(object.metadata.annotations) && 'example.com/tried' in object.metadata.annotations`;
  const validations = [{ expression: `!(${forgets})` }, { expression: `!(${tried})` }];
  await argocd.cluster.objects.create({
    ...policy,
    metadata: { name },
    spec: { matchConstraints: { resourceRules: resources }, validations },
  });
  await argocd.cluster.objects.create({
    ...binding,
    metadata: { name },
    spec: { policyName: name, validationActions: ['Deny'] },
  });
  // The API server takes a while to know a policy.
  await eventually(async () => {
    const { apiVersion, kind } = CATALOG;
    const metadata = { namespace: 'argocd', name: CATALOG.name, annotations: { 'example.com/tried': 'yes' } };
    const change = { apiVersion, kind, metadata };
    await expect(
      argocd.cluster.objects.apply(change, { fieldManager: 'somebody', dryRun: true }),
    ).rejects.toMatchObject({
      details: { httpStatus: 422 },
    });
  });
  await healthy();
  // Long enough ago to be asked for again.
  const finishedAt = new Date(Date.now() - 60_000).toISOString();
  const operationState = { phase: 'Failed', message: 'one object is not valid', finishedAt };
  const failed = { status: { sync: { status: 'OutOfSync' }, operationState } };
  await argocd.cluster.objects.patch(CATALOG, { type: 'merge', body: failed }, 'argocd-application-controller');
  await argocd.cluster.report(({ problem, events }) => {
    expect(problem?.code).toBe('SYNC_FAILED');
    const last = events.findLast(({ message }) => message.includes('cannot be tried again'));
    expect(last).toMatchObject({ step: 'observed', object: 'catalog' });
  });
  await argocd.cluster.objects.remove({ ...binding, name });
  await argocd.cluster.objects.remove({ ...policy, name });
  const refresh = { metadata: { annotations: { 'argocd.argoproj.io/refresh': 'normal' } } };
  await eventually(
    async () => {
      await argocd.cluster.objects.patch(CATALOG, { type: 'merge', body: refresh }, 'argocd-application-controller');
      expect((await readReport(argocd.cluster.objects)).problem).toBeNull();
    },
    { timeoutMs: 30_000 },
  );
});

describe('the project `default`', () => {
  const ref = inArgocd(ARGO, 'AppProject', 'default');
  const spec = async (): Promise<unknown> => (await argocd.cluster.objects.read(ref))?.['spec'];
  it('is as Argo CD has it where there is no lockdown', async () => {
    await want({ lockdown: false, deployKey: { current: 2, next: null, currentReady: true, nextReady: false } });
    await healthy();
    const before = await lastSequence();
    const theirs = { sourceRepos: ['https://git.example.org/theirs.git'], description: 'of the catalog' };
    await argocd.cluster.objects.patch(ref, { type: 'merge', body: { spec: theirs } }, 'argocd-controller');
    await argocd.cluster.objects.remove(SOME_ACCOUNT);
    await eventually(async () => expect(await appliedSince(before)).toHaveLength(1), { timeoutMs: 30_000 });
    await healthy();
    expect(await spec()).toMatchObject(theirs);
    await want({ deployKey: { current: 2, next: null, currentReady: true, nextReady: false } });
    await eventually(async () => expect(await spec()).toMatchObject({ sourceRepos: [] }), { timeoutMs: 30_000 });
    await healthy();
  });
});

it('an application controller that runs and does nothing is restarted, and no other', () =>
  expect(
    onlyTheFrozenIsRestarted(
      argocd,
      'argocd-application-controller',
      'StatefulSet argocd/argocd-application-controller',
    ),
  ).resolves.toBeUndefined());
