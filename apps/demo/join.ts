import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join as joinPath, resolve } from 'node:path';
import { fullJitterMs, systemClock } from '@fairlead/clock';
import { messageOf } from '@fairlead/errors';
import type { Logger } from '@fairlead/observability';
import {
  administrator,
  joinCluster,
  keepTokenFresh,
  materialiseSandbox,
  runCommand,
  type Administrator,
  type SandboxOptions,
} from '@fairlead/stack/demo';
import type { JoinConfig } from './config.js';
import { environmentFile } from './environment-file.js';

const CLUSTER = 'demo';
const KUBECTL = '/usr/local/bin/kubectl';
/** Beside this program in its image. */
const CLI = resolve(dirname(process.argv[1] ?? ''), '../../../cli/dist/bundle/main.js');
const READY_MS = 180_000;
const RETRY = { baseMs: 500, capMs: 5_000 };

/**
 * Registers the demo cluster, applies its import manifest, and does for its agent's container what a kubelet does: its settings, its Secrets and a
 * token that is fresh, until the signal. Rejects when API and cluster are not there in time.
 */
export async function join(config: JoinConfig, logger: Logger, stop: AbortSignal): Promise<void> {
  const signal = AbortSignal.any([stop, AbortSignal.timeout(READY_MS)]);
  const admin = administratorOf(config);
  const sandbox = await sandboxOf(config);
  await untilDone('the administrator logs in', () => admin.login(), logger, signal);
  const endpoints = config.FAIRLEAD_LINK_ENDPOINTS;
  const joined = { ...sandbox, clusterName: CLUSTER, links: 1, targets: [], admin, endpoints };
  await untilDone('the cluster joins', () => joinCluster(joined), logger, signal);
  await writeTour(config, admin);
  const { env } = await materialiseSandbox(sandbox, undefined);
  // The last one: the agent's container waits for it.
  await replace(joinPath(config.FAIRLEAD_POD_DIR, 'agent.env'), environmentFile(env));
  logger.info('demo.joined', { cluster: CLUSTER });
  await keepTokenFresh(sandbox, undefined, (line) => logger.warn('demo.token.kept', { reason: line }), stop);
}

function administratorOf(config: JoinConfig): Administrator {
  const { FAIRLEAD_API_URL: url, FAIRLEAD_API_CA_FILE: caFile, FAIRLEAD_ADMIN_TOKEN_FILE: adminTokenFile } = config;
  const { FAIRLEAD_HOME: home } = config;
  // The image's user has no home of its own.
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, FAIRLEAD_HOME: home, NO_COLOR: '1' };
  return administrator((args) => runCommand(process.execPath, [CLI, ...args], { env }), {
    url,
    caFile,
    adminTokenFile,
  });
}

async function sandboxOf(config: JoinConfig): Promise<SandboxOptions> {
  const adminKubeconfigPath = config.FAIRLEAD_DEMO_KUBECONFIG;
  const caPem = await readFile(joinPath(dirname(adminKubeconfigPath), 'ca.crt'), 'utf8');
  const { clusters } = JSON.parse(await readFile(adminKubeconfigPath, 'utf8')) as {
    readonly clusters: readonly [{ readonly cluster: { readonly server: string } }];
  };
  const kube = { url: clusters[0].cluster.server, caPem, adminKubeconfigPath, version: '' };
  return { kube, kubectlPath: KUBECTL, dir: config.FAIRLEAD_POD_DIR };
}

/** A kubeconfig whose doors are reached from here. */
async function writeTour(config: JoinConfig, admin: Administrator): Promise<void> {
  await mkdir(config.FAIRLEAD_HOME, { recursive: true });
  const path = joinPath(config.FAIRLEAD_HOME, 'kubeconfig');
  await admin.writeKubeconfig(CLUSTER, `${path}.told`);
  let text = await readFile(`${path}.told`, 'utf8');
  for (const { from, to } of config.FAIRLEAD_DOORS_HERE) text = text.replaceAll(from, to);
  await replace(path, text);
}

async function replace(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

async function untilDone(
  what: string,
  act: () => Promise<unknown>,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  for (let failures = 1; ; failures += 1) {
    try {
      await act();
      return;
    } catch (error) {
      signal.throwIfAborted();
      logger.info('demo.waiting', { until: what, reason: messageOf(error) });
      await systemClock.sleep(fullJitterMs(failures, RETRY), signal);
    }
  }
}
