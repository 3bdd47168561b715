import type { GitOpsSpec } from '@fairlead/desired-state';
import type { KubeObject, ObjectRef } from '@fairlead/kube/rest';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readReport } from './testing/cluster.js';
import { bundleOf, handOver, handoverOf, HOST_KEY, stateOf, gitopsSpecOf } from './testing/control-plane.js';
import { startInstalledCluster, type InstalledCluster } from './testing/installed-cluster.js';
import { smallArgocdBundle } from './testing/small-argocd-bundle.js';

const bundle = bundleOf(smallArgocdBundle());
const TRUSTED = { ssh_known_hosts: `${HOST_KEY.host} ${HOST_KEY.type} ${HOST_KEY.key}\n` };
const ARGO = 'argoproj.io/v1alpha1';
const HOSTS = 'argocd-ssh-known-hosts-cm';
let cluster: InstalledCluster;
let revision = 0;

beforeAll(async () => {
  cluster = await startInstalledCluster({ bundle });
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

async function want(more: Partial<GitOpsSpec> = {}): Promise<void> {
  revision += 1;
  const spec = gitopsSpecOf(bundle, { tool: 'argocd', ...more });
  await handOver(cluster.objects, await handoverOf(cluster.authority, stateOf(revision, spec)));
}

const healthy = (more: Record<string, unknown> = {}) =>
  cluster.report((report) =>
    expect(report).toMatchObject({ phase: 'healthy', appliedRevision: revision, problem: null, ...more }),
  );
const inArgocd = (apiVersion: string, kind: string, name: string): ObjectRef => ({
  apiVersion,
  kind,
  name,
  namespace: 'argocd',
});
const read = (...of: Parameters<typeof inArgocd>): Promise<KubeObject | null> => cluster.objects.read(inArgocd(...of));
const lastSequence = async (): Promise<number> => (await readReport(cluster.objects)).events.at(-1)?.sequence ?? 0;
const restartedSince = async (sequence: number): Promise<string[]> => {
  const { events } = await readReport(cluster.objects);
  return events.filter((event) => event.sequence > sequence && event.step === 'restarted').map(({ object }) => object);
};

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
  expect((await readReport(cluster.objects)).sync).toMatchObject({
    ready: true,
    revision: 'main@sha1:0123456789abcdef0123456789abcdef01234567',
  });
  expect((await read('v1', 'ConfigMap', HOSTS))?.['data']).toEqual(TRUSTED);
});

it('tries the next key beside the current one', async () => {
  await want({ deployKey: { current: 1, next: 2, currentReady: true, nextReady: true } });
  await cluster.report(({ publicKeys }) =>
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
  await cluster.objects.patch(inArgocd(ARGO, 'Application', 'fairlead-probe'), kept, 'kubectl-annotate');
  await want({ deployKey: { current: 2, next: null, currentReady: true, nextReady: false } });
  await healthy();
  expect(await read(ARGO, 'Application', 'fairlead-probe')).toBeNull();
  expect(await read('v1', 'Secret', 'fairlead-probe')).toBeNull();
});

describe('what is changed', () => {
  it.each([
    ['by hand', 'kubectl-edit'],
    ['through Argo CD itself', 'argocd-server'],
  ])('of whom it trusts is put back: %s', async (_what, fieldManager) => {
    const hosts = { ssh_known_hosts: 'git.example.com ssh-ed25519 AAAA\n' };
    const project = { sourceRepos: ['*'], destinations: [{ server: '*', namespace: '*' }] };
    await cluster.objects.patch(
      inArgocd('v1', 'ConfigMap', HOSTS),
      { type: 'merge', body: { data: hosts } },
      fieldManager,
    );
    await cluster.objects.patch(
      inArgocd(ARGO, 'AppProject', 'default'),
      { type: 'merge', body: { spec: project } },
      fieldManager,
    );
    await eventually(
      async () => {
        expect((await read('v1', 'ConfigMap', HOSTS))?.['data']).toEqual(TRUSTED);
        expect((await read(ARGO, 'AppProject', 'default'))?.['spec']).toMatchObject({
          sourceRepos: [],
          destinations: [],
        });
      },
      { timeoutMs: 30_000 },
    );
  });

  const secret = inArgocd('v1', 'Secret', 'fairlead-catalog');
  const application = inArgocd(ARGO, 'Application', 'fairlead-catalog');
  const insecure = { type: 'merge', body: { data: { insecure: 'dHJ1ZQ==' } } } as const;
  const elsewhere = {
    type: 'merge',
    body: { spec: { sources: [{ repoURL: 'https://git.example.org/other.git', path: '.' }] } },
  } as const;
  const soon = { timeoutMs: 30_000 };
  const takenAway = async (): Promise<void> => {
    expect((await cluster.objects.read(secret))?.['data']).not.toHaveProperty('insecure');
    expect((await cluster.objects.read(application))?.['spec']).not.toHaveProperty('sources');
  };

  it.each([
    ['argocd-server', 'helm'],
    ['kubelet', 'kube-controller-manager'],
    ['kube-apiserver', 'clusterrole-aggregation-controller'],
    ['fairlead-installer', 'fairlead-installer'],
  ])('is taken away where somebody adds to what trusts or follows, under whatever name: %s, %s', async (one, other) => {
    await healthy();
    await cluster.objects.patch(secret, insecure, one);
    await cluster.objects.patch(application, elsewhere, other);
    await eventually(takenAway, soon);
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
      [secret, insecure],
      [application, elsewhere],
    ] as const) {
      await eventually(async () => {
        const changed = await cluster.objects.patch(ref, change, 'me');
        const test = { op: 'test', path: '/metadata/resourceVersion', value: changed.metadata.resourceVersion };
        const replace = { op: 'replace', path: '/metadata/managedFields', value: history(changed) };
        await cluster.objects.patch(ref, { type: 'json', body: [test, replace] }, 'me');
      });
    }
    await eventually(takenAway, soon);
    await healthy();
    expect((await cluster.objects.read(secret))?.metadata.managedFields).toMatchObject([
      { manager: 'fairlead-installer' },
    ]);
  });

  it('is made anew where somebody froze it', async () => {
    await healthy();
    const hosts = inArgocd('v1', 'ConfigMap', HOSTS);
    const before = await Promise.all([hosts, secret].map((ref) => cluster.objects.read(ref)));
    const data = { ssh_known_hosts: 'git.example.com ssh-ed25519 AAAA\n' };
    await cluster.objects.patch(hosts, { type: 'merge', body: { immutable: true, data } }, 'argocd-server');
    // None of our values, so that the server would take our apply.
    await cluster.objects.patch(
      secret,
      { type: 'merge', body: { ...insecure.body, immutable: true } },
      'kubectl-patch',
    );
    await eventually(async () => expect((await cluster.objects.read(hosts))?.['data']).toEqual(TRUSTED), soon);
    await eventually(takenAway, soon);
    await healthy();
    for (const was of before) {
      const now = was && (await cluster.objects.read({ ...was, ...was.metadata, namespace: 'argocd' }));
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
    await cluster.objects.patch(
      application,
      annotate({ ...stop, 'fairlead.dev/reconcile': 'disabled' }),
      'argocd-server',
    );
    await cluster.objects.patch(secret, annotate({ 'fairlead.dev/reconcile': 'disabled' }), 'kubectl-annotate');
    await cluster.objects.patch(secret, insecure, 'kubectl-patch');
    await eventually(takenAway, soon);
    await eventually(async () =>
      expect((await cluster.objects.read(application))?.metadata.annotations).toMatchObject({
        'argocd.argoproj.io/skip-reconcile': 'false',
        'argocd.argoproj.io/manifest-generate-paths': '',
      }),
    );
    // What else is noted of them stays.
    const noted = (await cluster.objects.read(secret))?.metadata.annotations;
    expect(noted).toHaveProperty(['fairlead.dev/reconcile'], 'disabled');
    // A removal leaves what is annotated so.
    for (const ref of [application, secret]) {
      const none = { type: 'merge', body: { metadata: { annotations: { 'fairlead.dev/reconcile': null } } } } as const;
      await cluster.objects.patch(ref, none, 'kubectl-annotate');
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
    await cluster.objects.patch(application, { type: 'merge', body: noted }, 'argocd-server');
    await cluster.objects.patch(
      application,
      { type: 'json', body: [{ op: 'add', path: '/metadata/labels/x', value: 'y' }] },
      'kubelet',
    );
    const before = await cluster.objects.read(application);
    await cluster.objects.patch(secret, insecure, 'me');
    await eventually(takenAway, soon);
    await healthy();
    const after = await cluster.objects.read(application);
    expect(after).toMatchObject(noted);
    expect(after?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);
    const none = { metadata: { finalizers: null, labels: { team: null, x: null } }, operation: null };
    await cluster.objects.patch(application, { type: 'merge', body: none }, 'argocd-server');
  });

  it('in a Secret that the manifest leaves empty stays, while the rest is repaired', async () => {
    const password = { data: { 'admin.password': 'c2VjcmV0' } };
    await cluster.objects.patch(
      inArgocd('v1', 'Secret', 'argocd-secret'),
      { type: 'merge', body: password },
      'kubectl-patch',
    );
    await cluster.objects.remove(inArgocd('v1', 'ServiceAccount', 'argocd-repo-server'));
    await eventually(async () => expect(await read('v1', 'ServiceAccount', 'argocd-repo-server')).not.toBeNull(), {
      timeoutMs: 30_000,
    });
    await healthy();
    expect(await read('v1', 'Secret', 'argocd-secret')).toMatchObject(password);
  });
});

describe('what is trusted is put back where nothing else is repaired', () => {
  const account = inArgocd('v1', 'ServiceAccount', 'argocd-repo-server');
  const hosts = inArgocd('v1', 'ConfigMap', HOSTS);
  const edit = { type: 'merge', body: { data: { ssh_known_hosts: 'git.example.com ssh-ed25519 AAAA\n' } } } as const;
  const soon = { timeoutMs: 30_000 };
  const trusted = async () => expect((await cluster.objects.read(hosts))?.['data']).toEqual(TRUSTED);
  const toldSince = async (sequence: number): Promise<string[]> => {
    const { events } = await readReport(cluster.objects);
    return events.filter((event) => event.sequence > sequence && event.step === 'applied').map(({ object }) => object);
  };

  it('while the fleet holds repairs', async () => {
    await want({ deployKey: { current: 2, next: null, currentReady: true, nextReady: false }, holdRepairs: true });
    await healthy();
    const before = await lastSequence();
    await cluster.objects.remove(account);
    for (const _again of [1, 2]) {
      await cluster.objects.patch(hosts, edit, 'argocd-server');
      await eventually(trusted, soon);
    }
    await cluster.report(({ phase }) => expect(phase).toBe('degraded'));
    const told = Array<string>(2).fill(`ConfigMap argocd/${HOSTS}`);
    await eventually(async () => expect(await toldSince(before)).toEqual(told), { timeoutMs: 30_000 });
    expect(await cluster.objects.read(account)).toBeNull();
    await want({ deployKey: { current: 2, next: null, currentReady: true, nextReady: false } });
    await healthy();
  });

  it('though another one of it cannot be written', async () => {
    const deployKey = { current: 2, next: null, currentReady: true, nextReady: false };
    await want({ deployKey, holdRepairs: true });
    await healthy();
    const keep = (finalizers: readonly string[]) => ({ type: 'merge', body: { metadata: { finalizers } } }) as const;
    await cluster.objects.patch(hosts, keep(['example.com/kept']), 'me');
    await cluster.objects.remove(hosts);
    const open = { type: 'merge', body: { spec: { sourceRepos: ['*'] } } } as const;
    await cluster.objects.patch(inArgocd(ARGO, 'AppProject', 'default'), open, 'argocd-server');
    await eventually(
      async () => expect((await read(ARGO, 'AppProject', 'default'))?.['spec']).toMatchObject({ sourceRepos: [] }),
      soon,
    );
    expect((await cluster.objects.read(hosts))?.metadata.deletionTimestamp).toBeDefined();
    await cluster.objects.patch(hosts, keep([]), 'me');
    await eventually(trusted, soon);
    await want({ deployKey });
    await healthy();
  });

  it('when the repairs of the hour are spent', async () => {
    await cluster.stopInstaller();
    cluster.startInstaller({ ladder: { repairsPerHour: 0 } });
    await healthy();
    await cluster.objects.remove(account);
    await cluster.report(({ phase }) => expect(phase).toBe('escalated'));
    await cluster.objects.patch(hosts, edit, 'kubectl-edit');
    await eventually(trusted, soon);
    expect(await cluster.objects.read(account)).toBeNull();
    await cluster.stopInstaller();
    cluster.startInstaller();
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
    await cluster.objects.patch(hosts, edit, 'kubectl-edit');
    await cluster.report(({ phase }) => expect(phase).toBe('degraded'));
    expect((await cluster.objects.read(hosts))?.['data']).not.toEqual(TRUSTED);
    await want({ deployKey });
    await eventually(trusted, soon);
    await healthy();
  });
});

it('what keeps a commit from being tried again keeps nobody from hearing that it failed', async () => {
  const catalog = inArgocd(ARGO, 'Application', 'fairlead-catalog');
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
  await cluster.objects.create({
    ...policy,
    metadata: { name },
    spec: { matchConstraints: { resourceRules: resources }, validations },
  });
  await cluster.objects.create({
    ...binding,
    metadata: { name },
    spec: { policyName: name, validationActions: ['Deny'] },
  });
  // The API server takes a while to know a policy.
  await eventually(async () => {
    const { apiVersion, kind } = catalog;
    const metadata = { namespace: 'argocd', name: catalog.name, annotations: { 'example.com/tried': 'yes' } };
    const change = { apiVersion, kind, metadata };
    await expect(cluster.objects.apply(change, { fieldManager: 'somebody', dryRun: true })).rejects.toMatchObject({
      details: { httpStatus: 422 },
    });
  });
  await healthy();
  // Long enough ago to be asked for again.
  const finishedAt = new Date(Date.now() - 60_000).toISOString();
  const operationState = { phase: 'Failed', message: 'one object is not valid', finishedAt };
  const failed = { status: { sync: { status: 'OutOfSync' }, operationState } };
  await cluster.objects.patch(catalog, { type: 'merge', body: failed }, 'argocd-application-controller');
  await cluster.report(({ problem, events }) => {
    expect(problem?.code).toBe('SYNC_FAILED');
    const last = events.findLast(({ message }) => message.includes('cannot be tried again'));
    expect(last).toMatchObject({ step: 'observed', object: 'catalog' });
  });
  await cluster.objects.remove({ ...binding, name });
  await cluster.objects.remove({ ...policy, name });
  const refresh = { metadata: { annotations: { 'argocd.argoproj.io/refresh': 'normal' } } };
  await eventually(
    async () => {
      await cluster.objects.patch(catalog, { type: 'merge', body: refresh }, 'argocd-application-controller');
      expect((await readReport(cluster.objects)).problem).toBeNull();
    },
    { timeoutMs: 30_000 },
  );
});

describe('the project `default`', () => {
  const ref = inArgocd(ARGO, 'AppProject', 'default');
  const catalog = inArgocd(ARGO, 'Application', 'fairlead-catalog');
  const open = { sourceRepos: ['*'], destinations: [{ server: '*', namespace: '*' }], namespaceResourceBlacklist: [] };
  const spec = async (): Promise<unknown> => (await cluster.objects.read(ref))?.['spec'];
  /** As Argo CD deploys it from the catalog, and puts it back each time. */
  const deploy = async (): Promise<void> => {
    const metadata = {
      annotations: { 'argocd.argoproj.io/tracking-id': 'fairlead-catalog:argoproj.io/AppProject:argocd/default' },
    };
    await cluster.objects.patch(ref, { type: 'merge', body: { metadata, spec: open } }, 'argocd-controller');
  };
  const inCatalog = (resources: readonly unknown[]): Promise<KubeObject> =>
    cluster.objects.patch(catalog, { type: 'merge', body: { status: { resources } } }, 'argocd-application-controller');
  const repairsSince = async (sequence: number): Promise<string[]> => {
    const { events } = await readReport(cluster.objects);
    return events.filter((event) => event.sequence > sequence && event.step === 'applied').map(({ object }) => object);
  };

  it('is left to a catalog that holds it, which is told, and costs no repairs; and is locked again once it does not', async () => {
    await healthy();
    await inCatalog([{ group: 'argoproj.io', kind: 'AppProject', namespace: 'argocd', name: 'default' }]);
    const before = await lastSequence();
    await deploy();
    await healthy({ problem: expect.objectContaining({ code: 'CATALOG_CONFLICT' }) as unknown });
    // Whatever else is wrong is repaired meanwhile.
    await cluster.objects.remove(inArgocd('v1', 'ServiceAccount', 'argocd-repo-server'));
    await eventually(async () => expect(await read('v1', 'ServiceAccount', 'argocd-repo-server')).not.toBeNull(), {
      timeoutMs: 30_000,
    });
    await healthy({ problem: expect.objectContaining({ code: 'CATALOG_CONFLICT' }) as unknown });
    expect(await spec()).toMatchObject(open);
    const repaired = ['ServiceAccount argocd/argocd-repo-server'];
    await eventually(async () => expect(await repairsSince(before)).toEqual(repaired), { timeoutMs: 30_000 });
    await inCatalog([]);
    await eventually(async () => expect(await spec()).toMatchObject({ sourceRepos: [], destinations: [] }), {
      timeoutMs: 30_000,
    });
    await healthy();
  });

  it('is as Argo CD has it where there is no lockdown', async () => {
    await want({ lockdown: false, deployKey: { current: 2, next: null, currentReady: true, nextReady: false } });
    await healthy();
    const before = await lastSequence();
    const theirs = { sourceRepos: ['https://git.example.org/theirs.git'], description: 'of the catalog' };
    await cluster.objects.patch(ref, { type: 'merge', body: { spec: theirs } }, 'argocd-controller');
    await cluster.objects.remove(inArgocd('v1', 'ServiceAccount', 'argocd-repo-server'));
    await eventually(async () => expect(await repairsSince(before)).toHaveLength(1), { timeoutMs: 30_000 });
    await healthy();
    expect(await spec()).toMatchObject(theirs);
    await want({ deployKey: { current: 2, next: null, currentReady: true, nextReady: false } });
    await eventually(async () => expect(await spec()).toMatchObject({ sourceRepos: [] }), { timeoutMs: 30_000 });
    await healthy();
  });
});

describe('a controller that runs and does nothing is restarted, and no other', () => {
  /** One that freezes in the middle of a question has answered half of it, and another one seems to be silent. */
  const betweenQuestions = async (): Promise<void> => {
    const question = inArgocd(ARGO, 'Application', 'fairlead-functional');
    for (const isAsked of [true, false]) {
      await eventually(async () => expect((await cluster.objects.read(question)) !== null).toBe(isAsked), {
        timeoutMs: 30_000,
      });
    }
  };

  it.each([
    ['argocd-repo-server', 'Deployment argocd/argocd-repo-server'],
    ['argocd-application-controller', 'StatefulSet argocd/argocd-application-controller'],
  ])('%s', async (name, workload) => {
    await healthy();
    const before = await lastSequence();
    await betweenQuestions();
    cluster.standIn.frozen.add(name);
    await eventually(async () => expect(await restartedSince(before)).toContain(workload), { timeoutMs: 60_000 });
    cluster.standIn.frozen.delete(name);
    await healthy();
    expect(new Set(await restartedSince(before))).toEqual(new Set([workload]));
  });
});

describe('removal', () => {
  it('of everything has Argo CD delete what it deployed first, and leaves nothing of ours', async () => {
    // As its Redis makes it for itself.
    await cluster.objects.create({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'argocd-redis', namespace: 'argocd' },
    });
    await want({ suspend: true });
    await healthy();
    cluster.standIn.frozen.add('argocd-application-controller');
    revision += 1;
    const state = stateOf(revision, null, { remove: 'everything' });
    await handOver(cluster.objects, await handoverOf(cluster.authority, state));
    await cluster.report(({ problem }) => expect(problem?.code).toBe('REMOVAL_WAITS'));
    const waiting = await read(ARGO, 'Application', 'fairlead-catalog');
    expect(waiting?.metadata).toMatchObject({ finalizers: ['resources-finalizer.argocd.argoproj.io'] });
    expect(waiting?.metadata.annotations ?? {}).not.toHaveProperty('argocd.argoproj.io/skip-reconcile');
    cluster.standIn.frozen.delete('argocd-application-controller');
    await cluster.report((report) => expect(report).toMatchObject({ phase: 'off', appliedRevision: revision }));
    const labelSelector = 'app.kubernetes.io/managed-by=fairlead,fairlead.dev/bundle';
    for (const [apiVersion = '', kind = ''] of [
      ['apiextensions.k8s.io/v1', 'CustomResourceDefinition'],
      ['rbac.authorization.k8s.io/v1', 'ClusterRole'],
      ['v1', 'Secret'],
      ['v1', 'ConfigMap'],
      ['apps/v1', 'StatefulSet'],
      ['apps/v1', 'Deployment'],
    ]) {
      expect(await cluster.objects.list({ apiVersion, kind }, { labelSelector, namespace: 'argocd' })).toEqual([]);
    }
    const namespace = await cluster.objects.read({ apiVersion: 'v1', kind: 'Namespace', name: 'argocd' });
    expect(namespace?.metadata.deletionTimestamp ?? null).not.toBeNull();
  });
});
