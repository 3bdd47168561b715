// @tier full: e2e/gitops/follow shows that the Flux of the testbed is installed, fetches and applies
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Kubectl } from '../components/kubectl.js';
import { podProcesses } from '../components/processes.js';
import { startCatalogCluster, type CatalogCluster } from '../fixtures/catalog-cluster.js';
import { fluxObjects } from '../fixtures/flux-objects.js';
import { fluxImages } from './images.js';
import { fluxInstallManifest } from './install-manifest.js';

const PATIENCE = '--timeout=120s';
const quiet = { log: () => {} };

describe('Flux in a cluster of the testbed', () => {
  let followed: CatalogCluster;

  const insist: Kubectl['insist'] = (...run) => followed.kubectl.insist(...run);
  const flux = (...args: string[]): Promise<string> => insist([...args, '-n', 'flux-system']);

  beforeAll(async () => {
    vi.stubEnv('FAIRLEAD_TESTBED_PROVIDERS', 'path,download,go');
    followed = await startCatalogCluster({ images: () => fluxImages(quiet), kubectlTimeoutMs: 150_000 });
  });

  afterAll(async () => {
    await followed?.[Symbol.asyncDispose]();
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
    await insist(['apply', '-f', '-'], fluxObjects(followed.catalog));
    await flux('wait', '--for=condition=Ready', 'kustomization/catalog', PATIENCE);
    const greeting = await insist(['get', 'configmap', 'from-git', '-n', 'default', '-o', 'jsonpath={.data.greeting}']);
    expect(greeting).toBe('hello');
  });

  it('restarts a controller that was killed', async () => {
    const [before] = await podProcesses(followed.kubectl, 'flux-system', 'app=source-controller');
    process.kill(before!.pid, 'SIGKILL');
    await flux('wait', '--for=jsonpath={.status.containerStatuses[0].restartCount}=1', `pod/${before!.pod}`, PATIENCE);
    await flux('wait', '--for=condition=Ready', `pod/${before!.pod}`, PATIENCE);
    const [after] = await podProcesses(followed.kubectl, 'flux-system', 'app=source-controller');
    expect(after!.pod).toBe(before!.pod);
    expect(after!.pid).not.toBe(before!.pid);
    const last = '{.items[0].status.containerStatuses[0].lastState.terminated.exitCode}';
    expect(await flux('get', 'pods', '-l', 'app=source-controller', '-o', `jsonpath=${last}`)).toBe('137');
  });

  it('shows that a frozen controller runs and is not ready', async () => {
    const [frozen] = await podProcesses(followed.kubectl, 'flux-system', 'app=kustomize-controller');
    process.kill(frozen!.pid, 'SIGSTOP');
    await flux('wait', '--for=condition=Ready=false', `pod/${frozen!.pod}`, PATIENCE);
    const [still] = await podProcesses(followed.kubectl, 'flux-system', 'app=kustomize-controller');
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
    await followed.catalog.removeKey();
    await flux('wait', '--for=condition=Ready=false', 'gitrepository/catalog', PATIENCE);
    const message = 'jsonpath={.status.conditions[?(@.type=="Ready")].message}';
    expect(await flux('get', 'gitrepository', 'catalog', '-o', message)).toContain('failed to checkout');
  });

  it('goes with its namespace', async () => {
    const processes = await podProcesses(followed.kubectl, 'flux-system', 'app');
    expect(processes).toHaveLength(2);
    await insist(['delete', 'gitrepository,kustomization', '-n', 'flux-system', '--all', PATIENCE]);
    await insist(['delete', 'namespace', 'flux-system', PATIENCE]);
    for (const { pid } of processes) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });
});
