// @tier full: Argo CD itself; libs/installer/argocd-driver shows the driver before a real API server
import { join } from 'node:path';
import type { InstallerReport } from '@fairlead/desired-state';
import { accessFromKubeconfig, createKubeApi, createObjects, type KubeApi, type Objects } from '@fairlead/kube/rest';
import { eventually, scratchDir, testAuthority, type ScratchDir, type TestAuthority } from '@fairlead/testing';
import {
  argocdImages,
  argocdInstallManifest,
  kubectlOf,
  podProcesses,
  startCluster,
  startGitea,
  type Cluster,
  type GiteaInfo,
  type Kubectl,
  type Running,
} from '@fairlead/testbed';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { installIn, readReport, reportWhen } from './testing/cluster.js';
import {
  bring,
  bundleOf,
  handOver,
  handoverOf,
  HOST_KEY,
  NAMESPACE,
  stateOf,
  gitopsSpecOf,
  type Bundle,
} from './testing/control-plane.js';
import { createCatalog, type TestCatalog } from './testing/catalog.js';
import { freezeOnly } from './testing/freeze-only.js';

/** What the pods of Argo CD need on a busy machine. */
const PATIENCE = { timeoutMs: 240_000 };
// A test has several such waits, each with a deadline of its own.
vi.setConfig({ testTimeout: 600_000 });
/** The pace of production, but for the looks themselves. */
const PACE = {
  ladder: { settleMs: { objects: 1_000, workloads: 60_000, functional: 10_000 } },
  functional: { everyMs: 5_000, answerMs: 30_000 },
};

let scratch: ScratchDir;
let cluster: Cluster;
let gitea: Running<GiteaInfo>;
let catalog: TestCatalog;
let kubectl: Kubectl;
let api: KubeApi;
let objects: Objects;
let authority: TestAuthority;
let bundle: Bundle;
let installer: AsyncDisposable;
let revision = 0;
let { deployKey } = gitopsSpecOf(bundleOf(''));

beforeAll(async () => {
  scratch = await scratchDir();
  const images = await argocdImages(join(scratch.path, 'argocd'));
  cluster = await startCluster({ dataDir: join(scratch.path, 'cluster'), images });
  gitea = await startGitea({ dataDir: join(scratch.path, 'gitea') });
  catalog = await createCatalog(gitea.info);
  const kubeconfig = cluster.kube.info.adminKubeconfigPath;
  kubectl = await kubectlOf(kubeconfig, { timeoutMs: 120_000 });
  api = createKubeApi({ access: await accessFromKubeconfig(kubeconfig), userAgent: 'test' });
  objects = createObjects(api);
  authority = await testAuthority();
  bundle = bundleOf(await argocdInstallManifest());
  await objects.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
  installer = installIn(objects, authority, PACE);
});
afterAll(async () => {
  await installer?.[Symbol.asyncDispose]();
  api?.[Symbol.dispose]();
  await cluster?.stop();
  await gitea?.stop();
  await scratch?.[Symbol.asyncDispose]();
});

async function want(more: Parameters<typeof gitopsSpecOf>[1]): Promise<void> {
  revision += 1;
  const spec = gitopsSpecOf(bundle, { tool: 'argocd', source: catalog.source, deployKey, ...more });
  ({ deployKey } = spec);
  await handOver(objects, await handoverOf(authority, stateOf(revision, spec)));
}

const report = (check: (report: InstallerReport) => void) => reportWhen(objects, check, PATIENCE);
const followed = () =>
  report((said) =>
    expect(said).toMatchObject({ phase: 'healthy', appliedRevision: revision, source: { ready: true }, problem: null }),
  );
const greeting = async () => {
  const found = await objects.read({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'from-git' });
  return (found?.['data'] as { greeting?: string } | undefined)?.greeting;
};

it('installs Argo CD, and proves that it works before there is anything to follow', async () => {
  await bring(objects, bundle);
  await want({ source: null });
  await report((said) => expect(said).toMatchObject({ phase: 'healthy', appliedRevision: revision }));
  expect((await readReport(objects)).functionalAt).not.toBeNull();
});

it('follows the catalog with the key that the cluster made, and a push arrives', async () => {
  const [key] = (await readReport(objects)).publicKeys;
  await catalog.addKey(key?.publicKey ?? '');
  await want({});
  await followed();
  await report(({ sync, publicKeys }) => {
    expect(sync).toMatchObject({ ready: true });
    expect(publicKeys).toMatchObject([{ number: 1, works: true }]);
  });
  expect(await greeting()).toBe('hello');
  await catalog.push('welcome');
  await eventually(async () => expect(await greeting()).toBe('welcome'), PATIENCE);
});

describe('the catalog', () => {
  it('is not followed with a host key that is not the approved one', async () => {
    const knownHosts = catalog.source.knownHosts.map((host) => ({ ...host, type: HOST_KEY.type, key: HOST_KEY.key }));
    await want({ source: { ...catalog.source, knownHosts } });
    await report((said) =>
      expect(said).toMatchObject({
        phase: 'healthy',
        source: { ready: false },
        problem: { code: 'SOURCE_HOST_KEY' },
      }),
    );
    expect(await greeting()).toBe('welcome');
    await want({});
    await followed();
  });

  it('keeps the project `default` that it holds, which is told and not fought for, for as long as it does', async () => {
    const project = { apiVersion: 'argoproj.io/v1alpha1', kind: 'AppProject', namespace: 'argocd', name: 'default' };
    const sourceRepos = async () =>
      ((await objects.read(project))?.['spec'] as { sourceRepos?: string[] } | undefined)?.sourceRepos;
    const repairs = async () =>
      (await readReport(objects)).events.filter(
        ({ step, object }) => step === 'applied' && object.includes('AppProject'),
      );
    expect(await sourceRepos()).toEqual([]);
    const drop = await catalog.hold({
      apiVersion: project.apiVersion,
      kind: project.kind,
      metadata: { name: project.name, namespace: project.namespace },
      spec: { sourceRepos: ['*'], destinations: [{ server: '*', namespace: '*' }] },
    });
    await report((said) =>
      expect(said).toMatchObject({ phase: 'healthy', sync: { ready: true }, problem: { code: 'CATALOG_CONFLICT' } }),
    );
    const before = await repairs();
    await catalog.push('beside it');
    await eventually(async () => expect(await greeting()).toBe('beside it'), PATIENCE);
    await report((said) => expect(said).toMatchObject({ phase: 'healthy', problem: { code: 'CATALOG_CONFLICT' } }));
    expect(await sourceRepos()).toEqual(['*']);
    expect(await repairs()).toEqual(before);
    await drop();
    await eventually(async () => expect(await sourceRepos()).toEqual([]), PATIENCE);
    await catalog.push('welcome');
    await eventually(async () => expect(await greeting()).toBe('welcome'), PATIENCE);
    await followed();
  });

  it('is followed with the next key once that was tried', async () => {
    await want({ deployKey: { current: 1, next: 2, currentReady: true, nextReady: false } });
    const { publicKeys } = await report((said) => expect(said.publicKeys).toHaveLength(2));
    // The Git host is said to have it, and has not: that is noticed, while the current one is followed on.
    await want({ deployKey: { current: 1, next: 2, currentReady: true, nextReady: true } });
    await report((said) => expect(said.publicKeys).toMatchObject([{ works: true }, { works: false }]));
    await catalog.addKey(publicKeys[1]?.publicKey ?? '');
    await report((said) => expect(said.publicKeys).toMatchObject([{ works: true }, { number: 2, works: true }]));
    await want({ deployKey: { current: 2, next: null, currentReady: true, nextReady: false } });
    expect((await followed()).publicKeys).toMatchObject([{ number: 2, publicKey: publicKeys[1]?.publicKey }]);
    await catalog.push('with the next key');
    await eventually(async () => expect(await greeting()).toBe('with the next key'), PATIENCE);
    const gone = { apiVersion: 'v1', kind: 'Secret', namespace: 'argocd', name: 'fairlead-probe' };
    expect(await objects.read(gone)).toBeNull();
  });
});

it('a repo-server that is Running and frozen is restarted', async () => {
  const selector = 'app.kubernetes.io/name=argocd-repo-server';
  const frozen = await freezeOnly(kubectl, 'argocd', selector);
  await eventually(async () => {
    const running = await podProcesses(kubectl, 'argocd', selector);
    expect(running.length).toBeGreaterThan(0);
    expect(running.map(({ pid }) => pid)).not.toContain(frozen);
  }, PATIENCE);
  await followed();
});

it('a removal of everything takes along what it deployed, and the namespace', async () => {
  revision += 1;
  await handOver(objects, await handoverOf(authority, stateOf(revision, null, { remove: 'everything' })));
  await report((said) => expect(said).toMatchObject({ phase: 'off', appliedRevision: revision }));
  expect(await greeting()).toBeUndefined();
  await eventually(async () => {
    expect(await objects.read({ apiVersion: 'v1', kind: 'Namespace', name: 'argocd' })).toBeNull();
  }, PATIENCE);
});
