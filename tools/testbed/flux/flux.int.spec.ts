// @tier full: e2e/gitops/follow shows that the Flux of the testbed is installed, fetches and applies
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startCluster, type Cluster } from '../components/cluster.js';
import type { GiteaInfo, Running } from '../components/contract.js';
import { startGitea } from '../components/gitea.js';
import { kubectlOf, type Kubectl } from '../components/kubectl.js';
import { podProcesses } from '../components/processes.js';
import { makeCatalog, type Catalog } from '../fixtures/catalog.js';
import { fluxObjects } from '../fixtures/flux-objects.js';
import { temporaryDirectory } from '../fixtures/temporary.js';
import { fluxImages } from './images.js';
import { fluxInstallManifest } from './install-manifest.js';

const PATIENCE = '--timeout=120s';
const quiet = { log: () => {} };

describe('Flux in a cluster of the testbed', () => {
  let dir: Awaited<ReturnType<typeof temporaryDirectory>>;
  let cluster: Cluster;
  let gitea: Running<GiteaInfo>;
  let catalog: Catalog;
  let kubectl: Kubectl;

  /** Succeeds, or fails with what kubectl says. */
  async function insist(args: readonly string[], stdin?: string): Promise<string> {
    const { code, stdout, stderr } = await kubectl(args, stdin);
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
    return stdout.toString();
  }

  const flux = (...args: string[]): Promise<string> => insist([...args, '-n', 'flux-system']);

  beforeAll(async () => {
    vi.stubEnv('FAIRLEAD_TESTBED_PROVIDERS', 'path,download,go');
    dir = await temporaryDirectory();
    const images = await fluxImages(quiet);
    cluster = await startCluster({ dataDir: join(dir.path, 'cluster'), images, ...quiet });
    gitea = await startGitea({ dataDir: join(dir.path, 'gitea'), ...quiet });
    catalog = await makeCatalog(gitea.info, dir.path);
    kubectl = await kubectlOf(cluster.kube.info.adminKubeconfigPath, { timeoutMs: 150_000, ...quiet });
  });

  afterAll(async () => {
    await cluster?.stop();
    await gitea?.stop();
    await dir?.[Symbol.asyncDispose]();
    vi.unstubAllEnvs();
  });

  it('is installed by its manifest', async () => {
    const manifest = await fluxInstallManifest(quiet);
    await insist(['apply', '--server-side', '-f', '-'], manifest);
    await flux('wait', '--for=condition=Available', 'deployment', '--all', PATIENCE);
    const images = await flux('get', 'pods', '-o', 'jsonpath={.items[*].spec.containers[*].image}');
    expect(images.split(' ').toSorted()).toEqual([
      'ghcr.io/fluxcd/kustomize-controller:v1.9.5',
      'ghcr.io/fluxcd/source-controller:v1.3.0',
    ]);
  });

  it('brings what is in Git into the cluster, with a read-only deploy key', async () => {
    await insist(['apply', '-f', '-'], fluxObjects(catalog));
    await flux('wait', '--for=condition=Ready', 'kustomization/catalog', PATIENCE);
    const greeting = await insist(['get', 'configmap', 'from-git', '-n', 'default', '-o', 'jsonpath={.data.greeting}']);
    expect(greeting).toBe('hello');
  });

  it('restarts a controller that was killed', async () => {
    const [before] = await podProcesses(kubectl, 'flux-system', 'app=source-controller');
    process.kill(before!.pid, 'SIGKILL');
    await flux('wait', '--for=jsonpath={.status.containerStatuses[0].restartCount}=1', `pod/${before!.pod}`, PATIENCE);
    await flux('wait', '--for=condition=Ready', `pod/${before!.pod}`, PATIENCE);
    const [after] = await podProcesses(kubectl, 'flux-system', 'app=source-controller');
    expect(after!.pod).toBe(before!.pod);
    expect(after!.pid).not.toBe(before!.pid);
    const last = '{.items[0].status.containerStatuses[0].lastState.terminated.exitCode}';
    expect(await flux('get', 'pods', '-l', 'app=source-controller', '-o', `jsonpath=${last}`)).toBe('137');
  });

  it('shows that a frozen controller runs and is not ready', async () => {
    const [frozen] = await podProcesses(kubectl, 'flux-system', 'app=kustomize-controller');
    process.kill(frozen!.pid, 'SIGSTOP');
    await flux('wait', '--for=condition=Ready=false', `pod/${frozen!.pod}`, PATIENCE);
    const [still] = await podProcesses(kubectl, 'flux-system', 'app=kustomize-controller');
    expect(still).toEqual(frozen);
    expect(await flux('get', 'pod', frozen!.pod, '-o', 'jsonpath={.status.phase}')).toBe('Running');
    process.kill(frozen!.pid, 'SIGCONT');
    await flux('wait', '--for=condition=Ready', `pod/${frozen!.pod}`, PATIENCE);
  });

  it('waits for an image that nobody has, beside what runs', async () => {
    await flux('set', 'image', 'deployment/kustomize-controller', 'manager=ghcr.io/fluxcd/kustomize-controller:v0.0.0');
    const reasons = 'jsonpath={.items[*].status.containerStatuses[*].state.waiting.reason}';
    const pods = ['get', 'pods', '-l', 'app=kustomize-controller', '-o'];
    await vi.waitFor(async () => expect(await flux(...pods, reasons)).toBe('ImagePullBackOff'), {
      timeout: 60_000,
      interval: 200,
    });
    expect(await flux(...pods, 'jsonpath={.items[*].status.phase}')).toMatch(/^(?:Pending Running|Running Pending)$/u);
    await flux('rollout', 'undo', 'deployment/kustomize-controller');
    await flux('rollout', 'status', 'deployment/kustomize-controller', PATIENCE);
  });

  it('says that it cannot fetch any more when the deploy key is gone', async () => {
    await flux('wait', '--for=condition=Ready', 'gitrepository/catalog', PATIENCE);
    await catalog.removeKey();
    await flux('wait', '--for=condition=Ready=false', 'gitrepository/catalog', PATIENCE);
    const message = 'jsonpath={.status.conditions[?(@.type=="Ready")].message}';
    expect(await flux('get', 'gitrepository', 'catalog', '-o', message)).toContain('failed to checkout');
  });

  it('goes with its namespace', async () => {
    const processes = await podProcesses(kubectl, 'flux-system', 'app');
    expect(processes).toHaveLength(2);
    await insist(['delete', 'gitrepository,kustomization', '-n', 'flux-system', '--all', PATIENCE]);
    await insist(['delete', 'namespace', 'flux-system', PATIENCE]);
    for (const { pid } of processes) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });
});
