import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { TestCluster } from './cluster.js';
import { CLUSTER_ID } from './control-plane.js';

const MAIN = fileURLToPath(new URL('../../../apps/installer/dist/bundle/main.js', import.meta.url));

/** The installer as a process of its own, which can be killed. Its probes are on `healthPort`; by default on any. */
export function startInstallerProcess({ authority, kubeconfigPath }: TestCluster, healthPort = 0): ChildProcess {
  const env = {
    PATH: process.env['PATH'],
    KUBECONFIG: kubeconfigPath,
    FAIRLEAD_CLUSTER_ID: CLUSTER_ID,
    FAIRLEAD_TRUST_DOMAIN: authority.trustDomain,
    FAIRLEAD_ROOT_PINS: authority.pins.join(','),
    FAIRLEAD_INTERVAL_SECONDS: '0.5',
    FAIRLEAD_FUNCTIONAL_EVERY_SECONDS: '2',
    // The stand-in is in the process of the tests, which may be held up: its silence is not to be noted, or acted on.
    FAIRLEAD_FUNCTIONAL_ANSWER_SECONDS: '20',
    FAIRLEAD_SETTLE_SECONDS: '20',
    FAIRLEAD_HEALTH_LISTEN: `127.0.0.1:${healthPort}`,
  };
  const stdio = process.env['FAIRLEAD_TEST_LOG'] === undefined ? 'ignore' : 'inherit';
  return spawn(process.execPath, [MAIN], { env, stdio: ['ignore', stdio, stdio] });
}

/** Resolves when it has ended, which it may have before. */
export async function endProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}
