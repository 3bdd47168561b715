import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import type { Administrator } from '../access/administrator.js';
import { joinCluster } from '../demo/join-cluster.js';
import { StackError } from '../errors.js';
import type { Demo, Stack, StackOptions } from '../stack.js';
import type { DemoKind, PortPlan } from '../state/port-plan.js';
import type { StateDir } from '../state/state-dir.js';
import { startDemoCluster, type DemoCluster, type DemoClusterOptions } from './demo-cluster.js';
import { awaitFollowing, tellFollowing } from './following.js';
import { FOLLOWED_FILE, startDemoGitHost, type DemoGitHost } from './git-host.js';
import { CATALOG, setUpGitOps } from './set-up-gitops.js';

const FOLLOWS_WITHIN_MS = 5 * 60_000;

/** The demo's cluster and its Git host, before they know of each other. */
export interface GitOpsParts {
  readonly cluster: DemoCluster;
  readonly gitHost: DemoGitHost;
}

/** Which demo a folder has: what it once was with GitOps stays so. Throws StackError where that cannot be. */
export function demoKindOf(options: Pick<StackOptions, 'demo' | 'gitops'>, state: StateDir): DemoKind {
  if (options.demo === false) return 'none';
  if (options.gitops !== true && !existsSync(marker(state))) return 'plain';
  if (process.env['FAIRLEAD_TESTBED_KUBECONFIG'])
    throw new StackError(
      'a demo with GitOps is a cluster of its own: unset FAIRLEAD_TESTBED_KUBECONFIG, or leave --gitops out in another --state-dir',
    );
  return 'gitops';
}

/** Once its parts have been there: the demo without GitOps goes then. */
const marker = (state: StateDir): string => state.file('gitops', 'in-use');

const GitHostPorts = z.object({ gitea: z.int(), giteaSsh: z.int() });

/** The Git host stays where it first was, whatever the ports of the rest are: its address stands in keys and repositories. */
export function withGitHostPorts(ports: PortPlan, state: StateDir): PortPlan {
  const keptIn = state.file('gitops', 'ports.json');
  if (existsSync(keptIn)) return { ...ports, ...GitHostPorts.parse(JSON.parse(readFileSync(keptIn, 'utf8'))) };
  mkdirSync(state.file('gitops'), { recursive: true, mode: 0o700 });
  writeFileSync(keptIn, `${JSON.stringify(GitHostPorts.parse(ports))}\n`, { mode: 0o600 });
  return ports;
}

/** Starts both; what is not here yet is built, and said. */
export async function startGitOpsParts(options: DemoClusterOptions): Promise<GitOpsParts> {
  const text =
    'GitOps: getting Gitea and the controllers of Flux (where they have to be built: once, up to half an hour)';
  options.log({ kind: 'progress', text });
  // One after the other: each build takes all processors there are.
  const cluster = await startDemoCluster(options);
  return { cluster, gitHost: await startDemoGitHost(options) };
}

export interface JoinGitOpsOptions extends Omit<DemoClusterOptions, 'ports' | 'images'> {
  readonly admin: Administrator;
  readonly api: Stack['api'];
  readonly cli: Stack['cli'];
  readonly kubectl: Stack['kubectlBinary'];
  readonly endpoints: readonly string[];
  readonly links: number;
  readonly targets: readonly string[];
}

/** Does what an administrator does until the demo follows its repository, and waits for it. Then each change of it is told. */
export async function joinGitOpsDemo({ cluster, gitHost }: GitOpsParts, options: JoinGitOpsOptions): Promise<Demo> {
  const { admin, api, group, kubectl, log, endpoints, links, targets } = options;
  const { signal } = group;
  if ('unavailable' in kubectl) throw new StackError(`there is no kubectl: ${kubectl.unavailable}`);
  await setUpGitOps({ ...options, gitHost, signal });
  const clusterName = 'demo';
  writeFileSync(marker(options.state), '');
  const { deleted } = await admin.deleteClusterWithoutGitOps(clusterName);
  if (deleted) log({ kind: 'progress', text: 'GitOps: the demo cluster without it makes place for one with it' });
  const kube = cluster.info;
  const joining = { clusterName, links, targets, catalog: CATALOG, kube, admin, endpoints, kubectlPath: kubectl.path };
  await joinCluster(joining);
  await cluster.startNode();
  const status = await awaitFollowing(api, clusterName, { timeoutMs: FOLLOWS_WITHIN_MS, log, signal });
  void tellFollowing(api, clusterName, { before: status, log, signal });
  const { info, caFile, workingCopy } = gitHost;
  const url = `${info.url}/platform/catalog.git`;
  const gitops = { url, caFile, workingCopy, file: FOLLOWED_FILE, status };
  return { clusterName, kubeInfo: kube, adminKubeconfigPath: kube.adminKubeconfigPath, gitops };
}
