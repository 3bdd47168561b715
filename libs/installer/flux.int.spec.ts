// @tier full: every damage of Flux itself; e2e/gitops/follow shows Flux, libs/installer/repair the repairs
import { eventually } from '@fairlead/testing';
import { fluxImages, fluxInstallManifest, podProcesses } from '@fairlead/testbed';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { readReport } from './testing/cluster.js';
import { HOST_KEY, NAMESPACE } from './testing/control-plane.js';
import { freezeOnly } from './testing/freeze-only.js';
import { ED25519 } from './testing/pgp-keys.js';
import { startToolCluster, type ToolCluster } from './testing/tool-cluster.js';

/** What pods of two controllers need on a busy machine. */
const PATIENCE = { timeoutMs: 150_000 };
// A test has several such waits, each with a deadline of its own.
vi.setConfig({ testTimeout: 600_000 });
/** The pace of production, but for the looks themselves. */
const PACE = {
  ladder: { settleMs: { objects: 1_000, workloads: 45_000, functional: 10_000 } },
  functional: { everyMs: 3_000, answerMs: 30_000 },
};

let world: ToolCluster;

beforeAll(async () => {
  world = await startToolCluster({
    tool: 'flux',
    images: () => fluxImages(),
    manifest: () => fluxInstallManifest(),
    pace: PACE,
    ...PATIENCE,
  });
});
afterAll(() => world?.[Symbol.asyncDispose]());

const healthy = () =>
  world.report((report) => expect(report).toMatchObject({ phase: 'healthy', appliedRevision: world.revision }));
const greeting = () => world.greeting();
const lastSequence = async (): Promise<number> => (await readReport(world.objects)).events.at(-1)?.sequence ?? 0;
/** All is well again, and has been unwell since. */
const healedAfter = (sequence: number) =>
  world.report(({ phase, events }) => {
    expect(phase).toBe('healthy');
    expect(events.filter((event) => event.sequence > sequence).map(({ step }) => step)).toContain('healthy');
  });

it('installs Flux, and proves that it works before there is anything to follow', async () => {
  await world.bring();
  await world.want({ source: null });
  const report = await healthy();
  expect(report.functionalAt).not.toBeNull();
});

it('follows the catalog with the key that the cluster made', async () => {
  const [key] = (await readReport(world.objects)).publicKeys;
  await world.catalog.addKey(key?.publicKey ?? '');
  await world.want({});
  await world.report((report) =>
    expect(report).toMatchObject({ phase: 'healthy', source: { ready: true }, sync: { ready: true } }),
  );
  expect(await greeting()).toBe('hello');
  expect((await readReport(world.objects)).publicKeys).toMatchObject([{ number: 1, works: true }]);
});

it('a push arrives', async () => {
  await world.catalog.push('welcome');
  await eventually(async () => expect(await greeting()).toBe('welcome'), PATIENCE);
});

describe('the catalog', () => {
  const stopped = (reason: RegExp, before?: string) =>
    world.report(({ source, phase }) => {
      expect(phase).toBe('healthy');
      expect(source?.ready).toBe(false);
      expect(source?.message).toMatch(reason);
      expect(source?.message).not.toBe(before);
    });
  const followed = () =>
    world.report((report) =>
      expect(report).toMatchObject({ phase: 'healthy', appliedRevision: world.revision, source: { ready: true } }),
    );

  it('is not followed with a host key that is not the approved one', async () => {
    const knownHosts = world.catalog.source.knownHosts.map((host) => ({
      ...host,
      type: HOST_KEY.type,
      key: HOST_KEY.key,
    }));
    await world.want({ source: { ...world.catalog.source, knownHosts } });
    await stopped(/known|key mismatch|handshake/);
    await world.want({});
    expect(await followed()).toMatchObject({ publicKeys: [{ works: true }] });
  });

  it('is not followed to a commit that nobody signed, where signatures are demanded', async () => {
    const verification = { type: 'gpg' as const, keys: [{ name: 'ada', publicKey: ED25519.publicKey }] };
    await world.want({ source: { ...world.catalog.source, verification } });
    // Nobody signed the last one either: it is turned down once signatures are demanded, and only then is there another one to fetch.
    const { source } = await stopped(/signature|verif/i);
    await world.catalog.push('unsigned');
    // Which names the commit.
    await stopped(/signature|verif/i, source?.message);
    expect(await greeting()).not.toBe('unsigned');
    await world.want({});
    await followed();
    await eventually(async () => expect(await greeting()).toBe('unsigned'), PATIENCE);
  });

  it('is followed with the next key once that was tried, and the old one is gone then', async () => {
    await world.want({ deployKey: { current: 1, next: 2, currentReady: true, nextReady: false } });
    const { publicKeys } = await world.report((report) => expect(report.publicKeys).toHaveLength(2));
    await world.catalog.addKey(publicKeys[1]?.publicKey ?? '');
    await world.want({ deployKey: { current: 1, next: 2, currentReady: true, nextReady: true } });
    await world.report((report) => expect(report.publicKeys[1]).toMatchObject({ number: 2, works: true }));
    await world.want({ deployKey: { current: 2, next: null, currentReady: true, nextReady: false } });
    const after = await followed();
    expect(after.publicKeys).toMatchObject([{ number: 2, publicKey: publicKeys[1]?.publicKey }]);
    const gone = { apiVersion: 'v1', kind: 'Secret', namespace: 'flux-system', name: 'fairlead-probe' };
    expect(await world.objects.read(gone)).toBeNull();
    const keys = await world.objects.read({
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
    await world.kubectl.insist(args);
    await healedAfter(from);
    await world.catalog.push(`after ${_what}`);
    await eventually(async () => expect(await greeting()).toBe(`after ${_what}`), PATIENCE);
  });

  it('a controller that is Running and frozen', async () => {
    const from = await lastSequence();
    const frozen = await freezeOnly(world.kubectl, 'flux-system', 'app=kustomize-controller');
    const { events } = await healedAfter(from);
    expect(events.map(({ step }) => step)).toContain('healthy');
    // The frozen one is listed until its grace period is over; its liveness probe may be faster than we are.
    await eventually(async () => {
      const running = await podProcesses(world.kubectl, 'flux-system', 'app=kustomize-controller');
      expect(running.map(({ pid }) => pid)).not.toContain(frozen);
    }, PATIENCE);
  });
});

it('a removal of the tool leaves what it deployed, and a removal of everything does not', async () => {
  await world.remove('tool');
  expect(await greeting()).toBeDefined();
  expect(await podProcesses(world.kubectl, 'flux-system', 'app')).toEqual([]);
  await world.want({});
  const [key] = (await world.report(({ publicKeys }) => expect(publicKeys).toHaveLength(1))).publicKeys;
  await world.catalog.addKey(key?.publicKey ?? '');
  await world.report((report) => expect(report).toMatchObject({ phase: 'healthy', sync: { ready: true } }));
  await world.remove('everything');
  expect(await greeting()).toBeUndefined();
});
