// @tier full: each file of e2e starts one and asks it as its administrator; e2e/main-job/npm-start starts one again with its data
import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { findBinary } from '../binaries/find-binary.js';
import { temporaryDirectory } from '../fixtures/temporary.js';
import type { KubeInfo, Running } from './contract.js';
import { startKubernetes } from './kubernetes.js';

describe('kubernetes', () => {
  let dir: Awaited<ReturnType<typeof temporaryDirectory>>;
  let cluster: Running<KubeInfo>;
  let path: string;

  async function kubectl(...args: string[]): Promise<string> {
    const all = [`--kubeconfig=${cluster.info.adminKubeconfigPath}`, '--request-timeout=20s', ...args];
    return (await promisify(execFile)(path, all, { timeout: 30_000 })).stdout;
  }

  beforeAll(async () => {
    // The child processes are what is tested here, also on a machine with Docker.
    vi.stubEnv('FAIRLEAD_TESTBED_PROVIDERS', 'path,download,go');
    dir = await temporaryDirectory();
    cluster = await startKubernetes({ dataDir: join(dir.path, 'kubernetes'), log: () => {} });
    ({ path } = await findBinary('kubectl', { log: () => {} }));
  });

  afterAll(async () => {
    await cluster?.stop();
    await dir[Symbol.asyncDispose]();
    vi.unstubAllEnvs();
  });

  it('serves its API to the admin of a kubeconfig that only its owner can read', async () => {
    expect((await stat(cluster.info.adminKubeconfigPath)).mode & 0o777).toBe(0o600);
    const { clientVersion, serverVersion } = JSON.parse(await kubectl('version', '-o', 'json')) as Versions;
    expect(serverVersion.gitVersion).toBe(cluster.info.version);
    expect(clientVersion.gitVersion).toMatch(/^v1\.\d+\.\d+/u);
    expect(await kubectl('auth', 'whoami', '-o', 'json')).toContain('system:masters');
  });

  it('refuses who has no certificate, and enforces RBAC', async () => {
    const denied = kubectl('get', 'pods', '--as=somebody');
    await expect(denied).rejects.toThrow('User "somebody" cannot list resource "pods"');
    const response = kubectl('get', 'pods', '--as=system:anonymous');
    await expect(response).rejects.toThrow('system:anonymous');
  });

  it('creates pods without a controller for service accounts', async () => {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p' },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    };
    await kubectl('create', 'namespace', 'tests');
    const overrides = JSON.stringify(pod);
    expect(await kubectl('run', 'p', '-n', 'tests', '--image=i', `--overrides=${overrides}`)).toContain(
      'pod/p created',
    );
  });

  it('can be pointed to by a kubeconfig in the environment', async () => {
    vi.stubEnv('FAIRLEAD_TESTBED_PROVIDERS', 'env,path,download,go');
    vi.stubEnv('FAIRLEAD_TESTBED_KUBECONFIG', cluster.info.adminKubeconfigPath);
    const other = await startKubernetes({ dataDir: '/nowhere', log: () => {} });
    // Its keys are not ours to use.
    expect(other.info).toEqual({ ...cluster.info, pkiDir: undefined });
    expect(() => other.kill('SIGKILL')).toThrow('the testbed did not start it');
    vi.stubEnv('FAIRLEAD_TESTBED_KUBECONFIG', '/nowhere/kubeconfig');
    await expect(startKubernetes({ dataDir: '/nowhere', log: () => {} })).rejects.toThrow('no cluster answers');
    vi.stubEnv('FAIRLEAD_TESTBED_PROVIDERS', 'path,download,go');
  });

  it('comes back after SIGKILL on the same port, with its data and its keys', async () => {
    await kubectl('create', 'configmap', 'kept', '--from-literal=n=7');
    const { exited } = cluster;
    cluster.kill('SIGKILL');
    expect((await exited).signal).toBe('SIGKILL');
    await cluster.restart();
    expect(await kubectl('get', 'configmap', 'kept', '-o', 'jsonpath={.data.n}')).toBe('7');
  });

  it('keeps them across stop and start', async () => {
    const before = cluster.info;
    await cluster.stop();
    const apiPort = Number(new URL(before.url).port);
    cluster = await startKubernetes({ dataDir: join(dir.path, 'kubernetes'), apiPort, durable: true, log: () => {} });
    expect(cluster.info).toEqual(before);
    expect(await kubectl('get', 'configmap', 'kept', '-o', 'jsonpath={.data.n}')).toBe('7');
  });
});

interface Versions {
  readonly clientVersion: { readonly gitVersion: string };
  readonly serverVersion: { readonly gitVersion: string };
}
