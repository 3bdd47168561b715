// @tier full: every damage, with and without a control plane; libs/installer/repair and e2e/gitops/follow show the story
import { kubectlOf, type Kubectl } from '@fairlead/testbed';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { endControlPlane, eventsOfCommand } from './support/control-plane.js';
import { DAMAGES, flux, WITHIN } from './support/damages.js';
import { assign, becomesHealthy, setUp, status } from './support/follow.js';
import { heals } from './support/healing.js';
import { installerReport, storyOf } from './support/report.js';
import { DROPPED, FIRST_UPGRADE, importBundle, killHalfWay, SECOND_UPGRADE, type Upgrade } from './support/upgrade.js';
import { startWorld, type World } from './support/world.js';

let world: World;
let kubectl: Kubectl;

beforeAll(async () => {
  world = await startWorld();
  kubectl = await kubectlOf(world.cluster.kube.info.adminKubeconfigPath, { timeoutMs: 120_000 });
  await setUp(world);
  await becomesHealthy(world);
});
afterAll(() => world?.[Symbol.asyncDispose]());

/** What runs of ours in the cluster is killed when the first object of the next bundle is there, and what `alsoEnd` ends right after it. */
async function upgradeHalfWay(
  upgrade: Upgrade,
  gone: RegExp,
  alsoEnd: () => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  let half: readonly string[] = [];
  await heals(world, {
    harm: async () => {
      half = await killHalfWay(world, kubectl, upgrade, () => assign(world, { bundleVersion: upgrade.version }));
      await alsoEnd();
    },
    undone: async () => {
      await flux(world, 'get', 'configmap', upgrade.added.at(-1) ?? '');
      expect(await flux(world, 'get', 'deployment', 'kustomize-controller', '-o', 'yaml')).toContain(upgrade.argument);
      expect(await world.kubectl(['get', 'clusterrole', DROPPED, '--ignore-not-found'])).toBe('');
    },
    withinMs: WITHIN.minutes,
    story: [
      ['removed', gone],
      ['installed', /^$/],
    ],
  });
  expect(half).toContain(upgrade.added[0]);
  expect(half).not.toContain(upgrade.added.at(-1));
}

const runs = async (digest: string): Promise<void> => {
  await status(world, ({ health, report }) => {
    expect(report).toMatchObject({ bundleDigest: digest, problem: null });
    expect(health).toBe('healthy');
  });
};

describe('what somebody does to Flux is undone', () => {
  it.each(DAMAGES)('%s', async (_title, isUndone) => {
    await expect(isUndone({ world, kubectl })).resolves.toBeUndefined();
  });

  it('installer and agent are killed half-way through an upgrade: it is completed', async () => {
    const digest = await importBundle(world, FIRST_UPGRADE);
    await upgradeHalfWay(FIRST_UPGRADE, new RegExp(DROPPED));
    await expect(runs(digest)).resolves.toBeUndefined();
  });
});

describe('while there is no control plane', () => {
  it('all of that is undone just so, and told afterwards', { timeout: 1_200_000 }, async () => {
    let told: readonly unknown[] = [];
    {
      await using _none = await endControlPlane(world);
      for (const [title, isUndone] of DAMAGES) {
        console.info(title);
        await isUndone({ world, kubectl });
      }
      const { instance, sequence } = await storyOf(world);
      await flux(world, 'scale', 'deployment/source-controller', '--replicas=0');
      await eventually(
        async () => {
          const { events, installerInstance, phase } = await installerReport(world);
          expect([installerInstance, phase]).toEqual([instance, 'healthy']);
          told = events.filter((event) => event.sequence > sequence);
          expect(told.length).toBeGreaterThan(0);
        },
        { timeoutMs: WITHIN.minutes },
      );
    }
    await eventually(async () => expect(await eventsOfCommand(world)).toEqual(expect.arrayContaining([...told])), {
      timeoutMs: 120_000,
      intervalMs: 1_000,
    });
    await becomesHealthy(world);
  });

  it('an upgrade half-way through which installer, agent and control plane are killed is completed', async () => {
    const digest = await importBundle(world, SECOND_UPGRADE);
    {
      await using ended = new AsyncDisposableStack();
      await upgradeHalfWay(SECOND_UPGRADE, /ConfigMap flux-system\/upgrade-/, async () => {
        ended.use(await endControlPlane(world));
      });
    }
    await expect(runs(digest)).resolves.toBeUndefined();
  });
});
