import { statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { startKubernetes, type KubeInfo } from '@fairlead/testbed';
import { messageOf } from '@fairlead/errors';
import type { StackLog } from '../events.js';
import { componentUnit, type ComponentUnit } from '../process/component-unit.js';
import type { ProcessGroup } from '../process/process-group.js';
import type { PortPlan } from '../state/port-plan.js';
import { linkLog, type StateDir } from '../state/state-dir.js';

export type DemoKubernetes = { readonly info: KubeInfo } | { readonly unavailable: string };

/**
 * Starts the demo's API server and etcd. Where none can be had, says why; one that was started and failed is an error,
 * like any other child that crashes during the boot.
 */
export async function startDemoKubernetes(
  group: ProcessGroup,
  state: StateDir,
  ports: PortPlan,
  log: StackLog,
): Promise<DemoKubernetes> {
  const dataDir = state.file('kubernetes');
  const startedMs = Date.now();
  const unit = kubernetesUnit(state, dataDir, ports, log);
  try {
    await group.start(unit, 'infrastructure');
    return { info: unit.info };
  } catch (error) {
    if (group.signal.aborted || wasLaunched(dataDir, startedMs)) throw error;
    return { unavailable: messageOf((error as Error).cause ?? error) };
  }
}

function kubernetesUnit(state: StateDir, dataDir: string, ports: PortPlan, log: StackLog): ComponentUnit<KubeInfo> {
  const logPaths: [string, string] = [join(dataDir, 'kube-apiserver.log'), join(dataDir, 'etcd.log')];
  for (const path of logPaths) linkLog(state, basename(path, '.log'), path);
  const say = (text: string): void => log({ kind: 'progress', text });
  return componentUnit({
    name: 'kubernetes',
    logPaths,
    start: (signal) =>
      startKubernetes({ dataDir, apiPort: ports.kube, etcdPort: ports.etcd, log: say, signal, durable: false }),
  });
}

function wasLaunched(dataDir: string, sinceMs: number): boolean {
  const log = statSync(join(dataDir, 'etcd.log'), { throwIfNoEntry: false });
  return log !== undefined && log.mtimeMs >= sinceMs;
}
