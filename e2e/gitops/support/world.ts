import { join } from 'node:path';
import { startRealGitea, type GiteaUnderTest } from '@fairlead/git-hosts/testing';
import { podImages, type Stack, type StackOptions } from '@fairlead/stack';
import {
  kubectlOf,
  startCluster,
  startNetworkNamespace,
  type Cluster,
  type Images,
  type NetworkNamespace,
} from '@fairlead/testbed';
import { scratchDir } from '@fairlead/testing';
import { secretScan } from '../../support/secret-scan/index.js';
import { startTestStack } from '../../support/test-stack.js';
import { startGitFront, type GitFront } from './git-front.js';
import { asAdministrator, type AdminApi } from './admin-api.js';

export const CLUSTER = 'demo';

export interface WorldOptions {
  /** On top of what the import manifest tells the installer: shorter times, above all. */
  readonly installerEnv?: Readonly<Record<string, string>>;
  readonly keysEnv?: Readonly<Record<string, string>>;
  /** On top of what the import manifest tells the agent. */
  readonly agentEnv?: Readonly<Record<string, string>>;
  readonly stack?: Partial<StackOptions>;
  /** What the cluster's node can run on top of our own pods and Flux's. */
  readonly images?: Images;
  /** The Git host's SSH server is reached through a front, which can keep who comes waiting. */
  readonly withGitFront?: boolean;
  /**
   * True: its node and pods have a network of their own, and reach nothing outside but the cluster's API server and the ports of
   * the gateways that agents dial. Default: they share this machine's loopback with all the rest.
   */
  readonly cutOff?: boolean;
}

/** The whole of it: a control plane, a Git host, and a cluster that runs what is applied to it, our own pods and Flux's included. */
export interface World extends AsyncDisposable {
  readonly stack: Stack;
  readonly api: AdminApi;
  readonly gitea: GiteaUnderTest;
  /** Where its SSH server is found. */
  readonly gitPort: number;
  readonly gitFront: GitFront | undefined;
  /** What the control plane has of the Git host. */
  readonly gitToken: string;
  readonly cluster: Cluster;
  /** As the cluster's own administrator, not through Fairlead; rejects with what it said unless it succeeds. */
  kubectl(args: readonly string[], stdin?: string): Promise<string>;
  /** As it says it, whatever it says. */
  tryKubectl(
    args: readonly string[],
    stdin?: string,
  ): Promise<{ readonly code: number | null; readonly stderr: string }>;
}

/** How fast the Git host and its keys are looked at here. */
const KEYS_ENV = { FAIRLEAD_DEPLOY_KEY_CHECK_SECONDS: '1', FAIRLEAD_HOST_KEY_SCAN_SECONDS: '2' };
/** What an installer does each minute or two, within seconds. */
const INSTALLER_ENV = {
  FAIRLEAD_INTERVAL_SECONDS: '1',
  FAIRLEAD_FUNCTIONAL_EVERY_SECONDS: '5',
  FAIRLEAD_FUNCTIONAL_ANSWER_SECONDS: '25',
  FAIRLEAD_SETTLE_SECONDS: '30',
  // Of no registry: which hosts are needed is told, and nothing leaves this machine.
  FAIRLEAD_PREFLIGHT_PORTS: '1',
};

export async function startWorld(options: WorldOptions = {}): Promise<World> {
  await using parts = new AsyncDisposableStack();
  const scratch = parts.use(await scratchDir());
  const ours = await podImages({
    agentEnv: options.agentEnv,
    installerEnv: { ...INSTALLER_ENV, ...options.installerEnv },
  });
  const images = { ...ours, ...options.images };
  const network = options.cutOff ? parts.use(await startNetworkNamespace()) : undefined;
  const keys = { ...KEYS_ENV, ...options.keysEnv };
  const [cluster, gitea, { stack }] = await Promise.all([
    startCluster({ dataDir: join(scratch.path, 'cluster'), images, network }).then((part) => parts.use(part)),
    startRealGitea().then((part) => parts.use(part)),
    startTestStack({ demo: false, ...options.stack, env: { ...options.stack?.env, keys } }).then((part) =>
      parts.use(part),
    ),
  ]);
  const gitFront = options.withGitFront ? parts.use(await startGitFront(gitea.info.sshPort)) : undefined;
  if (network) await leadToGateways(stack, network);
  const gitToken = gitea.tokens.enough;
  secretScan.issued.add('the token of the Git host', gitToken);
  secretScan.issued.add('the token of the Git host’s administrator', gitea.info.adminToken);
  const run = await kubectlOf(cluster.kube.info.adminKubeconfigPath, { timeoutMs: 120_000 });
  const all = parts.move();
  return {
    stack,
    api: asAdministrator(stack),
    gitea,
    gitPort: gitFront?.port ?? gitea.info.sshPort,
    gitFront,
    gitToken,
    cluster,
    async kubectl(args, stdin) {
      const { code, stdout, stderr } = await run(args, stdin);
      if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
      return stdout.toString();
    },
    tryKubectl: (args, stdin) => run(args, stdin),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

async function leadToGateways({ gateways }: Stack, network: NetworkNamespace): Promise<void> {
  for (const { linkAddress } of gateways) await network.carryIn(Number(linkAddress.split(':').at(-1)));
}
