// @tier full: Argo CD itself; libs/installer/argocd-driver shows the driver before a real API server
import { eventually } from '@fairlead/testing';
import { argocdImages, argocdInstallManifest, podProcesses } from '@fairlead/testbed';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { readReport } from './testing/cluster.js';
import { HOST_KEY } from './testing/control-plane.js';
import { freezeOnly } from './testing/freeze-only.js';
import { startToolCluster, type ToolCluster } from './testing/tool-cluster.js';

/** What the pods of Argo CD need on a busy machine. */
const PATIENCE = { timeoutMs: 240_000 };
// A test has several such waits, each with a deadline of its own.
vi.setConfig({ testTimeout: 600_000 });
/** The pace of production, but for the looks themselves. */
const PACE = {
  ladder: { settleMs: { objects: 1_000, workloads: 60_000, functional: 10_000 } },
  functional: { everyMs: 5_000, answerMs: 30_000 },
};

let world: ToolCluster;

beforeAll(async () => {
  world = await startToolCluster({
    tool: 'argocd',
    images: (dir) => argocdImages(dir),
    manifest: () => argocdInstallManifest(),
    pace: PACE,
    ...PATIENCE,
  });
});
afterAll(() => world?.[Symbol.asyncDispose]());

const report: ToolCluster['report'] = (check) => world.report(check);
const followed = () =>
  report((said) =>
    expect(said).toMatchObject({
      phase: 'healthy',
      appliedRevision: world.revision,
      source: { ready: true },
      problem: null,
    }),
  );
const greeting = () => world.greeting();

it('installs Argo CD, and proves that it works before there is anything to follow', async () => {
  await world.bring();
  await world.want({ source: null });
  await report((said) => expect(said).toMatchObject({ phase: 'healthy', appliedRevision: world.revision }));
  expect((await readReport(world.objects)).functionalAt).not.toBeNull();
});

it('follows the catalog with the key that the cluster made, and a push arrives', async () => {
  const [key] = (await readReport(world.objects)).publicKeys;
  await world.catalog.addKey(key?.publicKey ?? '');
  await world.want({});
  await followed();
  await report(({ sync, publicKeys }) => {
    expect(sync).toMatchObject({ ready: true });
    expect(publicKeys).toMatchObject([{ number: 1, works: true }]);
  });
  expect(await greeting()).toBe('hello');
  await world.catalog.push('welcome');
  await eventually(async () => expect(await greeting()).toBe('welcome'), PATIENCE);
});

describe('the catalog', () => {
  it('is not followed with a host key that is not the approved one', async () => {
    const knownHosts = world.catalog.source.knownHosts.map((host) => ({
      ...host,
      type: HOST_KEY.type,
      key: HOST_KEY.key,
    }));
    await world.want({ source: { ...world.catalog.source, knownHosts } });
    await report((said) =>
      expect(said).toMatchObject({
        phase: 'healthy',
        source: { ready: false },
        problem: { code: 'SOURCE_HOST_KEY' },
      }),
    );
    expect(await greeting()).toBe('welcome');
    await world.want({});
    await followed();
  });

  it('keeps the project `default` that it holds, which is told and not fought for, for as long as it does', async () => {
    const project = { apiVersion: 'argoproj.io/v1alpha1', kind: 'AppProject', namespace: 'argocd', name: 'default' };
    const sourceRepos = async () =>
      ((await world.objects.read(project))?.['spec'] as { sourceRepos?: string[] } | undefined)?.sourceRepos;
    const repairs = async () =>
      (await readReport(world.objects)).events.filter(
        ({ step, object }) => step === 'applied' && object.includes('AppProject'),
      );
    expect(await sourceRepos()).toEqual([]);
    const drop = await world.catalog.hold({
      apiVersion: project.apiVersion,
      kind: project.kind,
      metadata: { name: project.name, namespace: project.namespace },
      spec: { sourceRepos: ['*'], destinations: [{ server: '*', namespace: '*' }] },
    });
    await report((said) =>
      expect(said).toMatchObject({ phase: 'healthy', sync: { ready: true }, problem: { code: 'CATALOG_CONFLICT' } }),
    );
    const before = await repairs();
    await world.catalog.push('beside it');
    await eventually(async () => expect(await greeting()).toBe('beside it'), PATIENCE);
    await report((said) => expect(said).toMatchObject({ phase: 'healthy', problem: { code: 'CATALOG_CONFLICT' } }));
    expect(await sourceRepos()).toEqual(['*']);
    expect(await repairs()).toEqual(before);
    await drop();
    await eventually(async () => expect(await sourceRepos()).toEqual([]), PATIENCE);
    await world.catalog.push('welcome');
    await eventually(async () => expect(await greeting()).toBe('welcome'), PATIENCE);
    await followed();
  });

  it('is followed with the next key once that was tried', async () => {
    await world.want({ deployKey: { current: 1, next: 2, currentReady: true, nextReady: false } });
    const { publicKeys } = await report((said) => expect(said.publicKeys).toHaveLength(2));
    // The Git host is said to have it, and has not: that is noticed, while the current one is followed on.
    await world.want({ deployKey: { current: 1, next: 2, currentReady: true, nextReady: true } });
    await report((said) => expect(said.publicKeys).toMatchObject([{ works: true }, { works: false }]));
    await world.catalog.addKey(publicKeys[1]?.publicKey ?? '');
    await report((said) => expect(said.publicKeys).toMatchObject([{ works: true }, { number: 2, works: true }]));
    await world.want({ deployKey: { current: 2, next: null, currentReady: true, nextReady: false } });
    expect((await followed()).publicKeys).toMatchObject([{ number: 2, publicKey: publicKeys[1]?.publicKey }]);
    await world.catalog.push('with the next key');
    await eventually(async () => expect(await greeting()).toBe('with the next key'), PATIENCE);
    const gone = { apiVersion: 'v1', kind: 'Secret', namespace: 'argocd', name: 'fairlead-probe' };
    expect(await world.objects.read(gone)).toBeNull();
  });
});

it('a repo-server that is Running and frozen is restarted', async () => {
  const selector = 'app.kubernetes.io/name=argocd-repo-server';
  const frozen = await freezeOnly(world.kubectl, 'argocd', selector);
  await eventually(async () => {
    const running = await podProcesses(world.kubectl, 'argocd', selector);
    expect(running.length).toBeGreaterThan(0);
    expect(running.map(({ pid }) => pid)).not.toContain(frozen);
  }, PATIENCE);
  await followed();
});

it('a removal of everything takes along what it deployed, and the namespace', async () => {
  await world.remove('everything');
  expect(await greeting()).toBeUndefined();
  await eventually(async () => {
    expect(await world.objects.read({ apiVersion: 'v1', kind: 'Namespace', name: 'argocd' })).toBeNull();
  }, PATIENCE);
});
