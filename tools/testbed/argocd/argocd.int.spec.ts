// @tier full: Argo CD itself; nothing of the ordinary tier needs it
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startCluster, type Cluster } from '../components/cluster.js';
import type { GiteaInfo, Running } from '../components/contract.js';
import { startGitea } from '../components/gitea.js';
import { kubectlOf, type Kubectl } from '../components/kubectl.js';
import { podProcesses } from '../components/processes.js';
import { makeCatalog, type Catalog } from '../fixtures/catalog.js';
import { temporaryDirectory } from '../fixtures/temporary.js';
import { argocdImages } from './images.js';
import { argocdInstallManifest } from './install-manifest.js';
import { ARGOCD_IMAGES } from './pins.js';

const PATIENCE = '--timeout=150s';
const CONTROLLER = 'statefulset/argocd-application-controller';
const quiet = { log: () => {} };

describe('Argo CD in a cluster of the testbed', () => {
  let dir: Awaited<ReturnType<typeof temporaryDirectory>>;
  let cluster: Cluster;
  let gitea: Running<GiteaInfo>;
  let catalog: Catalog;
  let kubectl: Kubectl;

  async function insist(args: readonly string[], stdin?: string): Promise<string> {
    const { code, stdout, stderr } = await kubectl(args, stdin);
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
    return stdout.toString();
  }

  const greeting = (): Promise<string> =>
    insist(['get', 'configmap', 'from-git', '-n', 'default', '-o', 'jsonpath={.data.greeting}']);
  const argocd = (...args: string[]): Promise<string> => insist([...args, '-n', 'argocd']);

  beforeAll(async () => {
    vi.stubEnv('FAIRLEAD_TESTBED_PROVIDERS', 'path,download,go');
    dir = await temporaryDirectory();
    const images = await argocdImages(join(dir.path, 'argocd'), { refreshSeconds: 2, ...quiet });
    cluster = await startCluster({ dataDir: join(dir.path, 'cluster'), images, ...quiet });
    gitea = await startGitea({ dataDir: join(dir.path, 'gitea'), ...quiet });
    catalog = await makeCatalog(gitea.info, dir.path);
    kubectl = await kubectlOf(cluster.kube.info.adminKubeconfigPath, { timeoutMs: 170_000, ...quiet });
  });

  afterAll(async () => {
    await cluster?.stop();
    await gitea?.stop();
    await dir?.[Symbol.asyncDispose]();
    vi.unstubAllEnvs();
  });

  it('is installed by its manifest', async () => {
    await insist(['apply', '--server-side', '-f', '-'], await argocdInstallManifest(quiet));
    for (const name of ['deployment/argocd-redis', 'deployment/argocd-repo-server', CONTROLLER])
      await argocd('rollout', 'status', name, PATIENCE);
    const images = await argocd('get', 'pods', '-o', 'jsonpath={.items[*].spec.containers[*].image}');
    const { argocd: controller, redis } = ARGOCD_IMAGES;
    expect(images.split(' ').toSorted()).toEqual([redis, controller, controller]);
  });

  it('syncs what is in Git, with a read-only deploy key under a known host key', async () => {
    const data = { ssh_known_hosts: `${catalog.knownHosts}\n` };
    const known = ['patch', 'configmap', 'argocd-ssh-known-hosts-cm', '--type=merge'];
    await argocd(...known, '-p', JSON.stringify({ data }));
    await insist(['apply', '-f', '-'], argocdObjects(catalog));
    for (const state of ['sync.status}=Synced', 'health.status}=Healthy'])
      await argocd('wait', `--for=jsonpath={.status.${state}`, 'application/catalog', PATIENCE);
    expect(await greeting()).toBe('hello');
  });

  it('brings what is pushed', async () => {
    await catalog.greet('good morning');
    const arrived = ['--for=jsonpath={.data.greeting}=good morning', 'configmap/from-git', PATIENCE];
    await insist(['wait', '-n', 'default', ...arrived]);
    expect(await greeting()).toBe('good morning');
  });

  it('puts back what was deleted by hand, also after its controller was killed', async () => {
    const selector = 'app.kubernetes.io/name=argocd-application-controller';
    const [before] = await podProcesses(kubectl, 'argocd', selector);
    process.kill(before!.pid, 'SIGKILL');
    await insist(['delete', 'configmap', 'from-git', '-n', 'default']);
    await insist(['wait', '--for=create', 'configmap/from-git', '-n', 'default', PATIENCE]);
    expect(await greeting()).toBe('good morning');
    // Its status may say only now that it runs again.
    await vi.waitFor(
      async () => {
        const [after] = await podProcesses(kubectl, 'argocd', selector);
        expect(after).toMatchObject({ pod: before!.pod });
        expect(after!.pid).not.toBe(before!.pid);
      },
      { timeout: 60_000 },
    );
  });
});

function argocdObjects({ url, identity }: Catalog): string {
  const metadata = { name: 'catalog', namespace: 'argocd' };
  const labels = { 'argocd.argoproj.io/secret-type': 'repository' };
  const items = [
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { ...metadata, labels },
      stringData: { type: 'git', url, sshPrivateKey: identity },
    },
    {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'AppProject',
      metadata: { name: 'default', namespace: 'argocd' },
      spec: {
        sourceRepos: ['*'],
        destinations: [{ namespace: '*', server: '*' }],
        clusterResourceWhitelist: [{ group: '*', kind: '*' }],
      },
    },
    {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Application',
      metadata,
      spec: {
        project: 'default',
        source: { repoURL: url, path: '.', targetRevision: 'main' },
        destination: { server: 'https://kubernetes.default.svc', namespace: 'default' },
        syncPolicy: { automated: { prune: true, selfHeal: true } },
      },
    },
  ];
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
}
