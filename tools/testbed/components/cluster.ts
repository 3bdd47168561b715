import { join } from 'node:path';
import type { Log } from '../log.js';
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
 * Starts etcd, kube-apiserver, kube-controller-manager and a test kubelet that takes every pod: what is applied to this cluster
 * runs, with a service account, as processes of this machine. Resolves when all of them are ready.
 */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { dataDir, images, nodeName = 'node-1', log, signal } = options;
  const given = { log, signal };
  await using parts = new AsyncDisposableStack();
  const start = async <T>(part: Promise<Running<T>>): Promise<Running<T>> => parts.use(await part);
  const kube = await start(
    startKubernetes({ dataDir: join(dataDir, 'kubernetes'), asProcesses: true, serviceAccounts: true, ...given }),
  );
  const of = { kube: kube.info, ...given };
  const controllers = await start(startControllerManager({ dataDir: join(dataDir, 'controllers'), ...of }));
  const kubelet = await start(
    startKubelet({ dataDir: join(dataDir, 'kubelet'), nodeName, images, bindsPods: true, ...of }),
  );
  const all = parts.move();
  const stop = () => all.disposeAsync();
  return { kube, controllers, kubelet, stop, [Symbol.asyncDispose]: stop };
}
