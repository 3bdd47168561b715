import type { ObjectEvent } from '@fairlead/desired-state';
import { podProcesses, type Kubectl } from '@fairlead/testbed';
import { kubectlOf } from '@fairlead/testbed';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { becomesHealthy, setUp } from './support/follow.js';
import { storyOf, type Report, installerReport } from './support/report.js';
import { startWorld, type World } from './support/world.js';

/** Within which everything here is healthy again, on a machine that is busy with other things. */
const HEALED_WITHIN_MS = 120_000;

let world: World;
let kubectl: Kubectl;

beforeAll(async () => {
  world = await startWorld();
  kubectl = await kubectlOf(world.cluster.kube.info.adminKubeconfigPath, { timeoutMs: 120_000 });
  await setUp(world);
  await becomesHealthy(world);
});
afterAll(() => world?.[Symbol.asyncDispose]());

const flux = (...args: string[]): Promise<string> => world.kubectl([...args, '-n', 'flux-system']);

interface Damage {
  /** Breaks something. */
  readonly harm: () => Promise<unknown>;
  /** Throws until what was broken is as it was. */
  readonly undone: () => Promise<unknown>;
  /** Steps that the story tells of it, in this order, among others. */
  readonly story: readonly (readonly [step: ObjectEvent['step'], object: RegExp])[];
}

/** Breaks it, and sees it healed: the objects, and the installer's own word. Resolves to how long that took. */
async function heals({ harm, undone, story }: Damage): Promise<number> {
  const beganMs = performance.now();
  const { instance, sequence } = await storyOf(world);
  await harm();
  await eventually(undone, { timeoutMs: HEALED_WITHIN_MS, intervalMs: 500 });
  await healthy((report) => {
    const since = report.installerInstance === instance ? sequence : 0;
    const told = report.events.filter((event) => event.sequence > since);
    let from = 0;
    for (const [step, object] of story) {
      const at = told.findIndex((event, index) => index >= from && event.step === step && object.test(event.object));
      expect(at, `no ${step} ${object.source} in ${JSON.stringify(told)}`).toBeGreaterThanOrEqual(from);
      from = at + 1;
    }
  });
  return performance.now() - beganMs;
}

async function healthy(check: (report: Report) => void = () => undefined): Promise<void> {
  await eventually(
    async () => {
      const report = await installerReport(world);
      expect({ phase: report.phase, problem: report.problem }).toEqual({ phase: 'healthy', problem: null });
      check(report);
    },
    { timeoutMs: HEALED_WITHIN_MS, intervalMs: 500 },
  );
}

/** The name of that kind which gives Flux's controllers their rights. */
async function crdController(kind: string): Promise<string> {
  const names = (await world.kubectl(['get', kind, '-o', 'jsonpath={.items[*].metadata.name}'])).split(' ');
  return names.find((name) => name.includes('crd-controller')) ?? '';
}

const exists = (kind: string, name: string) => (): Promise<string> => flux('get', kind, name);

describe('what somebody does to Flux is undone', () => {
  it.each([
    ['deployment', 'source-controller'],
    ['service', 'source-controller'],
    ['serviceaccount', 'kustomize-controller'],
    ['gitrepository.source.toolkit.fluxcd.io', 'fairlead-catalog'],
    ['secret', 'fairlead-catalog'],
  ])('a %s is deleted', async (kind, name) => {
    const healedMs = await heals({
      harm: () => flux('delete', kind, name, '--wait=false'),
      undone: exists(kind, name),
      story: [['applied', new RegExp(name)]],
    });
    expect(healedMs).toBeLessThan(HEALED_WITHIN_MS);
  });

  it('a controller is scaled to nothing', async () => {
    await heals({
      harm: () => flux('scale', 'deployment/kustomize-controller', '--replicas=0'),
      undone: async () =>
        expect(
          await flux('get', 'deployment', 'kustomize-controller', '-o', 'jsonpath={.status.availableReplicas}'),
        ).toBe('1'),
      story: [['applied', /Deployment flux-system\/kustomize-controller/]],
    });
  });

  it('an image is one that nobody has', async () => {
    const image = 'ghcr.io/fluxcd/kustomize-controller:v0.0.0';
    await heals({
      harm: () => flux('set', 'image', 'deployment/kustomize-controller', `manager=${image}`),
      undone: async () =>
        expect(await flux('get', 'deployment', 'kustomize-controller', '-o', 'yaml')).not.toContain(image),
      story: [['applied', /Deployment flux-system\/kustomize-controller/]],
    });
  });

  it('a definition is made useless', async () => {
    const name = 'gitrepositories.source.toolkit.fluxcd.io';
    const before = await world.kubectl(['get', 'crd', name, '-o', 'jsonpath={.spec.versions}']);
    const patch = [{ op: 'replace', path: '/spec/versions/0/schema/openAPIV3Schema', value: { type: 'object' } }];
    await heals({
      harm: () => world.kubectl(['patch', 'crd', name, '--type=json', '-p', JSON.stringify(patch)]),
      undone: async () =>
        expect(await world.kubectl(['get', 'crd', name, '-o', 'jsonpath={.spec.versions}'])).toBe(before),
      story: [['applied', new RegExp(name)]],
    });
  });

  it('its rights are taken away', async () => {
    const name = await crdController('clusterrole');
    await heals({
      harm: () => world.kubectl(['patch', 'clusterrole', name, '--type=merge', '-p', '{"rules":[]}']),
      undone: async () =>
        expect(await world.kubectl(['get', 'clusterrole', name, '-o', 'yaml'])).toContain('source.toolkit.fluxcd.io'),
      story: [['applied', new RegExp(name)]],
    });
  });

  it('a controller is frozen: it is Running and does nothing', async () => {
    const [frozen] = await podProcesses(kubectl, 'flux-system', 'app=source-controller');
    const pid = frozen?.pid ?? 0;
    await heals({
      harm: async () => process.kill(pid, 'SIGSTOP'),
      undone: async () => {
        const [now] = await podProcesses(kubectl, 'flux-system', 'app=source-controller');
        expect(now?.pid).toBeDefined();
        expect(now?.pid).not.toBe(pid);
      },
      story: [['observed', /^$/]],
    });
  });
});
