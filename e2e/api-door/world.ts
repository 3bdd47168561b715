import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  kubectlOf,
  startRealCluster,
  type KubeInfo,
  type Kubectl,
  type KubectlOptions,
  type RealCluster,
} from '@fairlead/testbed';
import type { Stack } from '@fairlead/stack';
import {
  itStreams,
  joinNode,
  runStreamingPods,
  streamingKubectls,
  type StreamProtocol,
  type StreamingPods,
} from '../support/pod-streams.js';
import { fairlead } from '../support/fairlead.js';
import { inTerminal } from '../support/terminal.js';
import { scratchStateDir, startTestStack, whoHoldsTheLink } from '../support/test-stack.js';
import { describe } from 'vitest';

export type Via = 'own' | 'relay';

/** An installation whose demo cluster has a node with pods that serve, echo and count. */
export interface StreamingWorld extends AsyncDisposable {
  readonly stack: Stack;
  /** With a context for each replica. */
  readonly kubeconfigPath: string;
  readonly pods: StreamingPods;
  readonly dir: string;
  /** At the kube-apiserver itself. */
  readonly direct: Kubectl;
  /** Through the replica that holds the link, and through the other. */
  readonly kubectls: Readonly<Record<Via, Readonly<Record<StreamProtocol, Kubectl>>>>;
}

/** The demo's node runs its pods as processes of this machine. */
export async function startStreamingWorld(): Promise<StreamingWorld> {
  await using starting = new AsyncDisposableStack();
  const dir = await scratchStateDir();
  starting.defer(() => rm(dir, { recursive: true, force: true }));
  const { stack } = starting.use(await startTestStack());
  const { demo, kubeconfigPath } = stack;
  if ('unavailable' in demo) throw new Error(demo.unavailable);
  starting.use(await joinNode(demo.kubeInfo, dir, 'node-1'));
  const inhabited = await inhabit(stack, kubeconfigPath);
  const direct = await directly(demo.kubeInfo);
  const owned = starting.move();
  return { stack, kubeconfigPath, dir, direct, ...inhabited, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** The demo is a cluster with a real node, whose pods are containers. */
export async function startRealStreamingWorld(): Promise<StreamingWorld & { readonly cluster: RealCluster }> {
  await using starting = new AsyncDisposableStack();
  const dir = await scratchStateDir();
  starting.defer(() => rm(dir, { recursive: true, force: true }));
  const cluster = starting.use(await startRealCluster({ dataDir: join(dir, 'cluster'), log: () => undefined }));
  const { stack } = starting.use(await startTestStack({ demo: false }));
  await stack.startAgent({ clusterName: 'demo', kube: cluster.kube.info });
  const kubeconfigPath = join(dir, 'kubeconfig');
  await fairlead(stack, 'kubeconfig', 'demo', '--output', kubeconfigPath);
  const inhabited = await inhabit(stack, kubeconfigPath);
  const direct = await directly(cluster.kube.info);
  const owned = starting.move();
  return {
    stack,
    kubeconfigPath,
    dir,
    direct,
    cluster,
    ...inhabited,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const directly = ({ adminKubeconfigPath }: KubeInfo): Promise<Kubectl> =>
  kubectlOf(adminKubeconfigPath, { timeoutMs: 120_000, log: () => undefined });

async function inhabit(stack: Stack, kubeconfigPath: string): Promise<Pick<StreamingWorld, 'pods' | 'kubectls'>> {
  const { holder, other } = await whoHoldsTheLink(stack);
  const kubectls = {
    own: await streamingKubectls(kubeconfigPath, ['--context', `demo@${holder}`]),
    relay: await streamingKubectls(kubeconfigPath, ['--context', `demo@${other}`]),
  };
  return { kubectls, pods: await runStreamingPods(kubectls.relay.WebSocket) };
}

/** As `kubectls`, but of another minor version, or run within something. */
export async function kubectlsOf(
  { stack, kubeconfigPath }: StreamingWorld,
  how: Pick<KubectlOptions, 'within' | 'version'>,
): Promise<StreamingWorld['kubectls']> {
  const { holder, other } = await whoHoldsTheLink(stack);
  const of = (gateway: string) => streamingKubectls(kubeconfigPath, ['--context', `demo@${gateway}`], how);
  return { own: await of(holder), relay: await of(other) };
}

/** Each in a terminal. */
export const terminalsOf = (
  world: StreamingWorld,
  version?: KubectlOptions['version'],
): Promise<StreamingWorld['kubectls']> => kubectlsOf(world, { within: inTerminal, version });

/** What kubectl's users do with pods, each by this way and with this protocol. */
export function describeStreams(pairs: readonly (readonly [Via, StreamProtocol])[], of: () => StreamingWorld): void {
  describe.each(pairs)('kubectl at the replica whose way is %s, with %s', (via, protocol) => {
    itStreams(protocol, () => {
      const { kubectls, pods, dir } = of();
      return { kubectl: kubectls[via][protocol], pods, dir, way: via };
    });
  });
}
