import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ended, runSource } from '../fixtures/run-source.js';
import { temporaryDirectory } from '../fixtures/temporary.js';
import { isRunning } from '../process/identity.js';
import { readState } from './state.js';

const testbed = (args: string[], env: NodeJS.ProcessEnv = {}) => ended(runSource('cli.ts', args, env));

it('status says for each component what would be used and why', async () => {
  const { stdout } = await testbed(['status', '-o', 'json']);
  const { components } = JSON.parse(stdout) as { components: { component: string; state: string }[] };
  expect(components.map(({ component }) => component)).toEqual([
    'nats-server',
    'etcd',
    'kube-apiserver',
    'kube-controller-manager',
    'kubectl',
    'kubectl-oldest',
    'kubectl-newest',
    'kube-scheduler',
    'kubelet',
    'kube-proxy',
    'coredns',
    'agnhost',
    'e2e.test',
    'pause',
    'test-kubelet',
    'gitea',
    'flux-source-controller',
    'flux-kustomize-controller',
    'argocd',
    'redis-server',
    'h2spec',
    'vault',
    'helm',
    'zitadel-oidc',
    'docker-compose',
    'promtool',
    'tessera-fsck',
    'tlog-verify',
    'client-go-trial',
    'nats',
    'kubernetes',
    'postgres',
  ]);
  expect(components.every(({ state }) => state !== 'missing')).toBe(true);
});

it('status and fetch fail where nothing works, and name what to install', async () => {
  const env = { FAIRLEAD_TESTBED_PROVIDERS: 'path', PATH: '', KUBEBUILDER_ASSETS: '' };
  const status = await testbed(['status'], env);
  expect(status.code).toBe(1);
  expect(status.stdout).toContain('install nats-server 2.11.0 or newer on PATH or in KUBEBUILDER_ASSETS');
  const fetch = await testbed(['fetch', 'etcd'], env);
  expect(fetch).toMatchObject({ code: 1, stdout: '' });
  expect(fetch.stderr).toContain('To get it: install etcd 3.5.0 or newer');
});

it('fetch refuses a component there is none of', async () => {
  expect((await testbed(['fetch', 'flux'])).stderr).toContain('no binary flux; there are nats-server');
});

it('up --detach leaves three servers running, and down ends them', async () => {
  await using dir = await temporaryDirectory();
  const at = ['--dir', join(dir.path, 'up')];
  const up = await testbed(['up', '--detach', ...at], { FAIRLEAD_TESTBED_PROVIDERS: 'path,download,go' });
  expect(up.stdout).toMatch(
    /^export NATS_URL='nats:\/\/127\.0\.0\.1:\d+'\nexport DATABASE_URL='postgres:.*'\nexport FAIRLEAD/u,
  );
  const { supervisor } = (await readState(join(dir.path, 'up')))!;
  expect(await isRunning(supervisor)).toBe(true);
  expect((await testbed(['up', ...at])).stderr).toContain(`already up in ${join(dir.path, 'up')}`);
  expect((await testbed(['down', ...at])).stdout).toBe(`ended pid ${supervisor.pid}\n`);
  expect(await isRunning(supervisor)).toBe(false);
  expect((await testbed(['down', ...at])).stdout).toContain('nothing is up');
});
