import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import type { Log } from '../log.js';
import type { NetworkNamespace } from '../network/network-namespace.js';
import type { ControllerManagerInfo, Images, KubeInfo, KubeletInfo, Running } from './contract.js';
import { startControllerManager } from './controller-manager.js';
import { startKubelet } from './kubelet.js';
import { startKubernetes } from './kubernetes.js';

export interface ClusterOptions {
  /** Holds everything; made when absent. */
  readonly dataDir: string;
  /** What its one node can run. */
  readonly images: Images;
  /** Default `node-1`. */
  readonly nodeName?: string | undefined;
  /** 0 or absent: any free port. */
  readonly apiPort?: number | undefined;
  readonly etcdPort?: number | undefined;
  /** Where its node and its pods run: they reach what is carried into it and nothing else. Default: this machine's network. */
  readonly network?: NetworkNamespace | undefined;
  readonly log?: Log | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A cluster of one node that runs what is applied to it. Dispose of it when done. */
export interface Cluster extends AsyncDisposable {
  readonly kube: Running<KubeInfo>;
  readonly controllers: Running<ControllerManagerInfo>;
  readonly kubelet: Running<KubeletInfo>;
  /** Stops all of it, the pods first. */
  stop(): Promise<void>;
}

/**
 * Starts etcd, kube-apiserver, kube-controller-manager and a test kubelet that takes every pod and serves every Service: what is
 * applied to this cluster runs, with a service account, as processes of this machine. Resolves when all of them are ready.
 */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const starts = clusterParts(options);
  await using parts = new AsyncDisposableStack();
  const kube = parts.use(await starts.kube());
  const controllers = parts.use(await starts.controllers(kube.info));
  const kubelet = parts.use(await starts.kubelet(kube.info));
  const all = parts.move();
  const stop = () => all.disposeAsync();
  return { kube, controllers, kubelet, stop, [Symbol.asyncDispose]: stop };
}

/** The parts of such a cluster, for whoever looks after each of them; to be started in this order and stopped in the other. */
export interface ClusterParts {
  kube(): Promise<Running<KubeInfo>>;
  controllers(kube: KubeInfo): Promise<Running<ControllerManagerInfo>>;
  kubelet(kube: KubeInfo): Promise<Running<KubeletInfo>>;
}

export function clusterParts(options: ClusterOptions): ClusterParts {
  const { dataDir, images, nodeName = 'node-1', log, signal, apiPort, etcdPort, network } = options;
  const given = { log, signal };
  return {
    kube: () =>
      startKubernetes({
        dataDir: join(dataDir, 'kubernetes'),
        asProcesses: true,
        serviceAccounts: true,
        apiPort,
        etcdPort,
        ...(process.platform === 'linux' ? { serviceRange: loopbackRange(dataDir) } : {}),
        ...given,
      }),
    controllers: (kube) => startControllerManager({ dataDir: join(dataDir, 'controllers'), kube, ...given }),
    kubelet: (kube) =>
      startKubelet({
        dataDir: join(dataDir, 'kubelet'),
        nodeName,
        images,
        bindsPods: true,
        servesServices: true,
        kube,
        network,
        ...given,
      }),
  };
}

/**
 * 4,096 addresses of 127.192.0.0/10 for Services, where Linux listens: the same for the same folder, as etcd keeps them, and
 * others for most other clusters of this machine. Pods have theirs below that.
 */
function loopbackRange(dataDir: string): string {
  const [first, second] = createHash('sha256').update(resolve(dataDir)).digest();
  return `127.${192 + (first! % 64)}.${(second! % 16) * 16}.0/20`;
}
