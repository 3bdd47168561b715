// @tier full: Argo CD itself; nothing of the ordinary tier needs it
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Kubectl } from '../components/kubectl.js';
import { podProcesses } from '../components/processes.js';
import type { Catalog } from '../fixtures/catalog.js';
import { startCatalogCluster, type CatalogCluster } from '../fixtures/catalog-cluster.js';
import { argocdImages } from './images.js';
import { argocdInstallManifest } from './install-manifest.js';
import { ARGOCD_IMAGES } from './pins.js';

const PATIENCE = '--timeout=150s';
const CONTROLLER = 'statefulset/argocd-application-controller';
const quiet = { log: () => {} };

describe('Argo CD in a cluster of the testbed', () => {
  let followed: CatalogCluster;

  const insist: Kubectl['insist'] = (...run) => followed.kubectl.insist(...run);
  const greeting = (): Promise<string> =>
    insist(['get', 'configmap', 'from-git', '-n', 'default', '-o', 'jsonpath={.data.greeting}']);
  const argocd = (...args: string[]): Promise<string> => insist([...args, '-n', 'argocd']);

  beforeAll(async () => {
    vi.stubEnv('FAIRLEAD_TESTBED_PROVIDERS', 'path,download,go');
    followed = await startCatalogCluster({
      images: (dir) => argocdImages(dir, { refreshSeconds: 2, ...quiet }),
      kubectlTimeoutMs: 170_000,
    });
  });

  afterAll(async () => {
    await followed?.[Symbol.asyncDispose]();
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
    const data = { ssh_known_hosts: `${followed.catalog.knownHosts}\n` };
    const known = ['patch', 'configmap', 'argocd-ssh-known-hosts-cm', '--type=merge'];
    await argocd(...known, '-p', JSON.stringify({ data }));
    await insist(['apply', '-f', '-'], argocdObjects(followed.catalog));
    for (const state of ['sync.status}=Synced', 'health.status}=Healthy'])
      await argocd('wait', `--for=jsonpath={.status.${state}`, 'application/catalog', PATIENCE);
    expect(await greeting()).toBe('hello');
  });

  it('brings what is pushed', async () => {
    await followed.catalog.greet('good morning');
    const arrived = ['--for=jsonpath={.data.greeting}=good morning', 'configmap/from-git', PATIENCE];
    await insist(['wait', '-n', 'default', ...arrived]);
    expect(await greeting()).toBe('good morning');
  });

  it('puts back what was deleted by hand, also after its controller was killed', async () => {
    const selector = 'app.kubernetes.io/name=argocd-application-controller';
    const [before] = await podProcesses(followed.kubectl, 'argocd', selector);
    process.kill(before!.pid, 'SIGKILL');
    await insist(['delete', 'configmap', 'from-git', '-n', 'default']);
    await insist(['wait', '--for=create', 'configmap/from-git', '-n', 'default', PATIENCE]);
    expect(await greeting()).toBe('good morning');
    // Its status may say only now that it runs again.
    await vi.waitFor(
      async () => {
        const [after] = await podProcesses(followed.kubectl, 'argocd', selector);
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
