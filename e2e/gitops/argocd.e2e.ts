// @tier full: Argo CD; e2e/gitops/follow shows the story with Flux, libs/installer/argocd-driver what differs
import { join } from 'node:path';
import { argocdImages, kubectlOf, podProcesses, type Kubectl } from '@fairlead/testbed';
import { scratchDir } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { greeting, greets, push } from './support/catalog.js';
import { ARGOCD, becomesHealthy, setUp, status } from './support/follow.js';
import { heals } from './support/healing.js';
import { startWorld, type World } from './support/world.js';

const WITHIN_MS = 150_000;
const CONTROLLER = 'argocd-application-controller';
const REPO_SERVER = 'argocd-repo-server';
const MISSING_IMAGE = 'quay.io/argoproj/argocd:v0.0.0';

const parts = new AsyncDisposableStack();
let world: World;
let kubectl: Kubectl;

beforeAll(async () => {
  const scratch = parts.use(await scratchDir());
  world = parts.use(await startWorld({ images: await argocdImages(join(scratch.path, 'argocd')) }));
  kubectl = await kubectlOf(world.cluster.kube.info.adminKubeconfigPath, { timeoutMs: 120_000 });
  await setUp(world, [], ARGOCD);
  await becomesHealthy(world);
});
afterAll(() => parts.disposeAsync());

const argocd = (...args: string[]): Promise<string> => world.kubectl([...args, '-n', 'argocd']);
const available = (workload: string): Promise<string> =>
  argocd('get', workload, '-o', 'jsonpath={.status.availableReplicas}');

it('a cluster assigned Argo CD has what is in the repository, and gets what is pushed', async () => {
  await greets(world, 'from-git', 'hello');
  await push(world, 'from-git.yaml', greeting('from-git', 'good morning'));
  await greets(world, 'from-git', 'good morning');
  await status(world, ({ health, report }) => {
    expect(report).toMatchObject({ problem: null, sync: { ready: true } });
    expect(health).toBe('healthy');
  });
});

describe('what somebody does to Argo CD is undone', () => {
  it('the repo server is deleted, and the controller is scaled to nothing', async () => {
    await heals(world, {
      harm: () =>
        Promise.all([
          argocd('delete', 'deployment', REPO_SERVER, '--wait=false'),
          argocd('scale', `statefulset/${CONTROLLER}`, '--replicas=0'),
        ]),
      undone: async () => {
        expect(await available(`deployment/${REPO_SERVER}`)).toBe('1');
        expect(await available(`statefulset/${CONTROLLER}`)).toBe('1');
      },
      withinMs: WITHIN_MS,
      written: () => [`Deployment argocd/${REPO_SERVER}`, `StatefulSet argocd/${CONTROLLER}`],
    });
  });

  it('an image is one that nobody has, and the rights of the controller are taken away', async () => {
    const role = ['clusterrole', CONTROLLER];
    const before = await world.kubectl(['get', ...role, '-o', 'jsonpath={.rules}']);
    await heals(world, {
      harm: async () => {
        await argocd('set', 'image', `deployment/${REPO_SERVER}`, `${REPO_SERVER}=${MISSING_IMAGE}`);
        await world.kubectl(['patch', ...role, '--type=merge', '-p', '{"rules":[]}']);
      },
      undone: async () => {
        expect(await argocd('get', 'deployment', REPO_SERVER, '-o', 'yaml')).not.toContain(MISSING_IMAGE);
        expect(await world.kubectl(['get', ...role, '-o', 'jsonpath={.rules}'])).toBe(before);
      },
      withinMs: WITHIN_MS,
      written: () => [`Deployment argocd/${REPO_SERVER}`, `ClusterRole ${CONTROLLER}`],
    });
  });

  it('the controller is frozen: it is Running and does nothing', async () => {
    const processes = () => podProcesses(kubectl, 'argocd', `app.kubernetes.io/name=${CONTROLLER}`);
    const [frozen] = await processes();
    const pid = frozen?.pid ?? 0;
    await heals(world, {
      harm: async () => process.kill(pid, 'SIGSTOP'),
      undone: async () => {
        const [now] = await processes();
        expect(now?.pid).toBeDefined();
        expect(now?.pid).not.toBe(pid);
      },
      withinMs: WITHIN_MS,
      story: [['observed', /^$/]],
    });
  });
});

it('goes on following the repository', async () => {
  await push(world, 'from-git.yaml', greeting('from-git', 'good evening'));
  await greets(world, 'from-git', 'good evening');
  expect((await status(world, ({ health }) => expect(health).toBe('healthy'))).report).toMatchObject({ problem: null });
});
