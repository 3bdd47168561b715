import { join } from 'node:path';
import {
  WAY_OUT,
  enforcePolicies,
  kubectlOf,
  openWayOut,
  startRealCluster,
  type Kubectl,
  type PolicyEnforcer,
  type RealCluster,
} from '@fairlead/testbed';
import { appImage } from '../support/app-image.js';
import { local, type ChartWorld } from './world.js';

export const EDGE_NODE = 'edge-1';
const COMMAND_MS = 300_000;

/** A cluster with a real node behind a firewall that lets nobody in, and out to the node of the control plane. */
export interface Edge extends AsyncDisposable {
  readonly cluster: RealCluster;
  /** As its administrator, at its kube-apiserver itself. */
  readonly kubectl: Kubectl;
  readonly policies: PolicyEnforcer;
}

/** To be disposed of before the world is. Network policies are enforced there too. */
export async function startEdge(world: ChartWorld): Promise<Edge> {
  await using starting = new AsyncDisposableStack();
  const cluster = starting.use(
    await startRealCluster({
      dataDir: join(world.dir, 'edge'),
      nodeName: EDGE_NODE,
      beside: world.cluster,
      images: [await appImage('agent', local('agent'))],
      log: () => undefined,
    }),
  );
  await openWayOut({ from: cluster.network, to: world.cluster.network });
  const kubectl = await kubectlOf(cluster.kube.info.adminKubeconfigPath, {
    timeoutMs: COMMAND_MS,
    log: () => undefined,
  });
  const policies = starting.use(await enforcePolicies(cluster.network, kubectl));
  const owned = starting.move();
  return { cluster, kubectl, policies, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** kubectl through the door, of somebody in the network of the control plane's node. */
export async function kubectlThroughDoor(world: ChartWorld, clusterName: string): Promise<Kubectl> {
  const kubeconfig = join(world.dir, `${clusterName}.kubeconfig`);
  await world.fairlead('kubeconfig', clusterName, '--output', kubeconfig);
  const within = (command: readonly string[]): readonly string[] => [...world.cluster.network.enter, ...command];
  return kubectlOf(kubeconfig, { within, env: world.env, timeoutMs: COMMAND_MS, log: () => undefined });
}

/** Where the Kubernetes API door is, from either side. */
export const doorUrl = (clusterName: string, path: string): string =>
  `https://${WAY_OUT.to}:30743/clusters/${clusterName}${path}`;
