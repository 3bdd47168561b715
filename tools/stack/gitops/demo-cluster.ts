import { basename, join } from 'node:path';
import { clusterParts, type ClusterParts, type KubeInfo } from '@fairlead/testbed';
import type { StackLog } from '../events.js';
import { componentUnit } from '../process/component-unit.js';
import type { ProcessGroup } from '../process/process-group.js';
import type { PortPlan } from '../state/port-plan.js';
import { linkLog, type StateDir } from '../state/state-dir.js';
import { podImages, type PodImagesOptions } from './pod-images.js';

export interface DemoClusterOptions {
  readonly group: ProcessGroup;
  readonly state: StateDir;
  readonly ports: PortPlan;
  readonly log: StackLog;
  readonly images: PodImagesOptions;
}

/** A cluster whose control plane runs. */
export interface DemoCluster {
  readonly info: KubeInfo;
  /** Its node, and with it the pods that were applied. Resolves when it is ready. */
  startNode(): Promise<void>;
}

/** What an installer does each minute, within seconds: somebody watches. No image is pulled here, so no registry is looked at. */
const INSTALLER_ENV = {
  FAIRLEAD_INTERVAL_SECONDS: '2',
  FAIRLEAD_FUNCTIONAL_EVERY_SECONDS: '20',
  FAIRLEAD_PREFLIGHT_PORTS: '',
};

/** A demo cluster that runs what is applied to it: etcd, kube-apiserver and kube-controller-manager; its kubelet is started last. */
export async function startDemoCluster(options: DemoClusterOptions): Promise<DemoCluster> {
  const { group, state, ports, log } = options;
  const { signal } = group;
  const dataDir = state.file('gitops', 'cluster');
  const images = await podImages({ installerEnv: INSTALLER_ENV, ...options.images, log, signal });
  const say = (text: string): void => log({ kind: 'progress', text });
  const parts = clusterParts({ dataDir, images, apiPort: ports.kube, etcdPort: ports.etcd, log: say, signal });
  const logs = (part: string, ...names: [string, ...string[]]): [string, ...string[]] => {
    const [first, ...others] = names.map((name) => join(dataDir, part, `${name}.log`));
    for (const path of [first!, ...others]) linkLog(state, basename(path, '.log'), path);
    return [first!, ...others];
  };
  const kubernetes = componentUnit({
    name: 'kubernetes',
    logPaths: logs('kubernetes', 'kube-apiserver', 'etcd'),
    start: () => parts.kube(),
  });
  await group.start(kubernetes, 'infrastructure');
  const { info } = kubernetes;
  const controllers = componentUnit({
    name: 'controller-manager',
    logPaths: logs('controllers', 'kube-controller-manager'),
    start: () => parts.controllers(info),
  });
  await group.start(controllers, 'infrastructure');
  return { info, startNode: () => startNode(parts, info, group, logs('kubelet', 'kubelet')) };
}

async function startNode(
  parts: ClusterParts,
  kube: KubeInfo,
  group: ProcessGroup,
  logPaths: [string, ...string[]],
): Promise<void> {
  await group.start(componentUnit({ name: 'kubelet', logPaths, start: () => parts.kubelet(kube) }), 'edge');
}
