import { createHash } from 'node:crypto';
import type { ClusterGitOps, GitHost } from '@fairlead/contracts';
import { messageOf } from '@fairlead/errors';
import { argocdInstallManifest, fluxInstallManifest } from '@fairlead/testbed';
import { eventually } from '@fairlead/testing';
import { fairlead } from '../../support/fairlead.js';
import { greeting, push } from './catalog.js';
import { CLUSTER, type World } from './world.js';

export const GIT_HOST = 'forge';
export const VERSION = 'v2.3.0';

/** A GitOps tool as an administrator gets to know it: a version, and its install manifest. */
export interface Upstream {
  readonly tool: 'flux' | 'argocd';
  readonly version: string;
  readonly manifest: () => Promise<string>;
  /** Of the assignment, in place of what the command gives it. */
  readonly assigned?: object;
}

const FLUX: Upstream = { tool: 'flux', version: VERSION, manifest: fluxInstallManifest };
/** Flux fetches whenever it is asked whether it works; Argo CD is asked by other objects than the catalog's. */
export const ARGOCD: Upstream = {
  tool: 'argocd',
  version: 'v3.1.16',
  manifest: argocdInstallManifest,
  assigned: { intervalSeconds: 5 },
};

/** Configures the Git host: its token, and its host keys, which are scanned and approved. */
async function addGitHost(world: World): Promise<GitHost> {
  await putGitHost(world, world.gitToken);
  return approveShownKeys(world.api);
}

/** Configures it, or changes its token. */
export async function putGitHost(
  { api, gitea, gitPort: sshPort }: Pick<World, 'api' | 'gitea' | 'gitPort'>,
  token: string,
): Promise<void> {
  const { url, caPem } = gitea.info;
  const host = { kind: 'gitea', url, caPem, sshHost: '127.0.0.1', sshPort, token };
  await api.ask('PUT', `/v1/git-hosts/${GIT_HOST}`, host);
}

/** Looks at what the host shows, and trusts exactly that. */
export async function approveShownKeys(api: World['api']): Promise<GitHost> {
  const { hostKeys } = await api.ask<GitHost>('POST', `/v1/git-hosts/${GIT_HOST}/host-keys/scan`);
  // A key that was given by hand was never seen.
  const newest = hostKeys.reduce((last, { lastSeenAt }) => ((lastSeenAt ?? '') > last ? (lastSeenAt ?? '') : last), '');
  const shown = hostKeys.filter(({ lastSeenAt }) => lastSeenAt === newest);
  const fingerprints = shown.map(({ fingerprint }) => fingerprint);
  return api.ask('POST', `/v1/git-hosts/${GIT_HOST}/host-keys/approval`, { fingerprints });
}

/** What an administrator does until a cluster follows its repository: everything but waiting for it. */
export async function setUp(
  world: World,
  createArgs: readonly string[] = [],
  { tool, version, manifest, assigned }: Upstream = FLUX,
): Promise<void> {
  const { api, stack } = world;
  await addGitHost(world);
  await push(world, 'from-git.yaml', greeting('from-git', 'hello'));
  await api.ask('POST', '/v1/catalog-repositories', { name: 'catalog', gitHost: GIT_HOST, path: 'platform/catalog' });
  const yaml = await manifest();
  const digest = createHash('sha256').update(yaml).digest('hex');
  await api.upload(`/v1/bundles/${tool}/${version}?digest=${digest}&origin=install.yaml`, 'application/yaml', yaml);
  const wish = ['--links', '1', '--gitops', tool, '--repo', 'catalog'];
  await fairlead(stack, 'cluster', 'create', CLUSTER, ...wish, ...createArgs);
  if (assigned) await assign(world, { tool, bundleVersion: version, ...assigned });
  await world.kubectl(['apply', '-f', '-'], await fairlead(stack, 'cluster', 'import', CLUSTER));
}

export async function assign({ api }: Pick<World, 'api'>, more: object = {}): Promise<void> {
  await api.ask('PUT', '/v1/gitops/assignments/demo', {
    selector: { cluster: CLUSTER },
    tool: 'flux',
    bundleVersion: VERSION,
    repository: 'catalog',
    rollout: { waves: [], soakSeconds: 0, onFailure: 'pause' },
    ...more,
  });
}

export function statusOf({ api }: World): Promise<ClusterGitOps> {
  return api.ask('GET', `/v1/clusters/${CLUSTER}/gitops`);
}

/** The cluster's status, once it is as the check wants it. */
export function status(
  world: World,
  check: (status: ClusterGitOps) => void,
  timeoutMs = 240_000,
): Promise<ClusterGitOps> {
  return eventually(
    async () => {
      const found = await statusOf(world);
      try {
        check(found);
      } catch (cause) {
        throw new Error(`${messageOf(cause)}\nthe cluster's status: ${JSON.stringify(withoutWish(found))}`, { cause });
      }
      return found;
    },
    { timeoutMs, intervalMs: 500 },
  );
}

/** Once it has all that was wanted of it, and follows its repository. */
export async function becomesHealthy(world: World): Promise<void> {
  await status(world, ({ health }) => {
    if (health !== 'healthy') throw new Error(`it is ${health}`);
  });
}

const withoutWish = ({ wish: _wish, ...rest }: ClusterGitOps): object => rest;
