// @tier full: every damage of Flux itself; e2e/gitops/follow shows Flux, libs/installer/repair the repairs
import { join } from 'node:path';
import { accessFromKubeconfig, createKubeApi, createObjects, type KubeApi, type Objects } from '@fairlead/kube/rest';
import { eventually, scratchDir, testAuthority, type ScratchDir, type TestAuthority } from '@fairlead/testing';
import {
  fluxImages,
  fluxInstallManifest,
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
import { ED25519 } from './testing/pgp-keys.js';

/** What pods of two controllers need on a busy machine. */
const PATIENCE = { timeoutMs: 150_000 };
// A test has several such waits, each with a deadline of its own.
vi.setConfig({ testTimeout: 600_000 });
/** The pace of production, but for the looks themselves. */
const PACE = {
  ladder: { settleMs: { objects: 1_000, workloads: 45_000, functional: 10_000 } },
  functional: { everyMs: 3_000, answerMs: 30_000 },
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
  cluster = await startCluster({ dataDir: join(scratch.path, 'cluster'), images: await fluxImages() });
  gitea = await startGitea({ dataDir: join(scratch.path, 'gitea') });
  catalog = await createCatalog(gitea.info);
  const kubeconfig = cluster.kube.info.adminKubeconfigPath;
  kubectl = await kubectlOf(kubeconfig, { timeoutMs: 120_000 });
  api = createKubeApi({ access: await accessFromKubeconfig(kubeconfig), userAgent: 'test' });
  objects = createObjects(api);
  authority = await testAuthority();
  bundle = bundleOf(await fluxInstallManifest());
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
  const spec = gitopsSpecOf(bundle, { source: catalog.source, deployKey, ...more });
  ({ deployKey } = spec);
  await handOver(objects, await handoverOf(authority, stateOf(revision, spec)));
}

const healthy = () =>
  reportWhen(
    objects,
    (report) => expect(report).toMatchObject({ phase: 'healthy', appliedRevision: revision }),
    PATIENCE,
  );
const greeting = async () => {
  const found = await objects.read({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'from-git' });
  return (found?.['data'] as { greeting?: string } | undefined)?.greeting;
};
const lastSequence = async (): Promise<number> => (await readReport(objects)).events.at(-1)?.sequence ?? 0;
/** All is well again, and has been unwell since. */
const healedAfter = (sequence: number) =>
  reportWhen(
    objects,
    ({ phase, events }) => {
      expect(phase).toBe('healthy');
      expect(events.filter((event) => event.sequence > sequence).map(({ step }) => step)).toContain('healthy');
    },
    PATIENCE,
  );

async function insist(...args: string[]): Promise<void> {
  const { code, stderr } = await kubectl(args);
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
}

it('installs Flux, and proves that it works before there is anything to follow', async () => {
  await bring(objects, bundle);
  await want({ source: null });
  const report = await healthy();
  expect(report.functionalAt).not.toBeNull();
});

it('follows the catalog with the key that the cluster made', async () => {
  const [key] = (await readReport(objects)).publicKeys;
  await catalog.addKey(key?.publicKey ?? '');
  await want({});
  await reportWhen(
    objects,
    (report) => expect(report).toMatchObject({ phase: 'healthy', source: { ready: true }, sync: { ready: true } }),
    PATIENCE,
  );
  expect(await greeting()).toBe('hello');
  expect((await readReport(objects)).publicKeys).toMatchObject([{ number: 1, works: true }]);
});

it('a push arrives', async () => {
  await catalog.push('welcome');
  await eventually(async () => expect(await greeting()).toBe('welcome'), PATIENCE);
});

describe('the catalog', () => {
  const stopped = (reason: RegExp, before?: string) =>
    reportWhen(
      objects,
      ({ source, phase }) => {
        expect(phase).toBe('healthy');
        expect(source?.ready).toBe(false);
        expect(source?.message).toMatch(reason);
        expect(source?.message).not.toBe(before);
      },
      PATIENCE,
    );
  const followed = () =>
    reportWhen(
      objects,
      (report) =>
        expect(report).toMatchObject({ phase: 'healthy', appliedRevision: revision, source: { ready: true } }),
      PATIENCE,
    );

  it('is not followed with a host key that is not the approved one', async () => {
    const knownHosts = catalog.source.knownHosts.map((host) => ({ ...host, type: HOST_KEY.type, key: HOST_KEY.key }));
    await want({ source: { ...catalog.source, knownHosts } });
    await stopped(/known|key mismatch|handshake/);
    await want({});
    expect(await followed()).toMatchObject({ publicKeys: [{ works: true }] });
  });

  it('is not followed to a commit that nobody signed, where signatures are demanded', async () => {
    const verification = { type: 'gpg' as const, keys: [{ name: 'ada', publicKey: ED25519.publicKey }] };
    await want({ source: { ...catalog.source, verification } });
    // Nobody signed the last one either: it is turned down once signatures are demanded, and only then is there another one to fetch.
    const { source } = await stopped(/signature|verif/i);
    await catalog.push('unsigned');
    // Which names the commit.
    await stopped(/signature|verif/i, source?.message);
    expect(await greeting()).not.toBe('unsigned');
    await want({});
    await followed();
    await eventually(async () => expect(await greeting()).toBe('unsigned'), PATIENCE);
  });

  it('is followed with the next key once that was tried, and the old one is gone then', async () => {
    await want({ deployKey: { current: 1, next: 2, currentReady: true, nextReady: false } });
    const { publicKeys } = await reportWhen(objects, (report) => expect(report.publicKeys).toHaveLength(2), PATIENCE);
    await catalog.addKey(publicKeys[1]?.publicKey ?? '');
    await want({ deployKey: { current: 1, next: 2, currentReady: true, nextReady: true } });
    await reportWhen(
      objects,
      (report) => expect(report.publicKeys[1]).toMatchObject({ number: 2, works: true }),
      PATIENCE,
    );
    await want({ deployKey: { current: 2, next: null, currentReady: true, nextReady: false } });
    const after = await followed();
    expect(after.publicKeys).toMatchObject([{ number: 2, publicKey: publicKeys[1]?.publicKey }]);
    const gone = { apiVersion: 'v1', kind: 'Secret', namespace: 'flux-system', name: 'fairlead-probe' };
    expect(await objects.read(gone)).toBeNull();
    const keys = await objects.read({
      apiVersion: 'v1',
      kind: 'Secret',
      namespace: NAMESPACE,
      name: 'fairlead-deploy-keys',
    });
    expect(Object.keys(keys?.['data'] ?? {}).toSorted()).toEqual(['2.key', '2.pub']);
  });
});

describe('repairs', () => {
  it.each([
    ['a Deployment that is gone', ['delete', 'deployment/source-controller', '-n', 'flux-system']],
    ['a scale of 0', ['scale', 'deployment/kustomize-controller', '-n', 'flux-system', '--replicas=0']],
    [
      'another image',
      ['set', 'image', 'deployment/kustomize-controller', '-n', 'flux-system', 'manager=ghcr.io/fluxcd/none:v0'],
    ],
    ['rights that are gone', ['delete', 'clusterrolebinding/cluster-reconciler', 'clusterrole/crd-controller']],
    ['a definition that is gone', ['delete', 'crd/gitrepositories.source.toolkit.fluxcd.io', '--wait=false']],
  ])('%s', async (_what, args) => {
    const from = await lastSequence();
    await insist(...args);
    await healedAfter(from);
    await catalog.push(`after ${_what}`);
    await eventually(async () => expect(await greeting()).toBe(`after ${_what}`), PATIENCE);
  });

  it('a controller that is Running and frozen', async () => {
    const from = await lastSequence();
    const frozen = await freezeOnly(kubectl, 'flux-system', 'app=kustomize-controller');
    const { events } = await healedAfter(from);
    expect(events.map(({ step }) => step)).toContain('healthy');
    // The frozen one is listed until its grace period is over; its liveness probe may be faster than we are.
    await eventually(async () => {
      const running = await podProcesses(kubectl, 'flux-system', 'app=kustomize-controller');
      expect(running.map(({ pid }) => pid)).not.toContain(frozen);
    }, PATIENCE);
  });
});

it('a removal of the tool leaves what it deployed, and a removal of everything does not', async () => {
  revision += 1;
  const remove = async (how: 'tool' | 'everything'): Promise<void> => {
    await handOver(objects, await handoverOf(authority, stateOf(revision, null, { remove: how })));
    await reportWhen(
      objects,
      (report) => expect(report).toMatchObject({ phase: 'off', appliedRevision: revision }),
      PATIENCE,
    );
  };
  await remove('tool');
  expect(await greeting()).toBeDefined();
  expect(await podProcesses(kubectl, 'flux-system', 'app')).toEqual([]);
  await want({});
  const [key] = (await reportWhen(objects, ({ publicKeys }) => expect(publicKeys).toHaveLength(1), PATIENCE))
    .publicKeys;
  await catalog.addKey(key?.publicKey ?? '');
  await reportWhen(
    objects,
    (report) => expect(report).toMatchObject({ phase: 'healthy', sync: { ready: true } }),
    PATIENCE,
  );
  revision += 1;
  await remove('everything');
  expect(await greeting()).toBeUndefined();
});
