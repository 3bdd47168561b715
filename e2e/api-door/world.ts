import { rm } from 'node:fs/promises';
import type { Kubectl } from '@fairlead/testbed';
import type { Stack } from '@fairlead/stack';
import {
  itStreams,
  joinNode,
  runStreamingPods,
  streamingKubectls,
  type StreamProtocol,
  type StreamingPods,
} from '../support/pod-streams.js';
import { scratchStateDir, startTestStack, whoHoldsTheLink } from '../support/test-stack.js';
import { describe } from 'vitest';

export type Via = 'own' | 'relay';

/** An installation whose demo cluster has a node with pods that serve, echo and count. */
export interface StreamingWorld extends AsyncDisposable {
  readonly stack: Stack;
  readonly pods: StreamingPods;
  readonly dir: string;
  /** Through the replica that holds the link, and through the other. */
  readonly kubectls: Readonly<Record<Via, Readonly<Record<StreamProtocol, Kubectl>>>>;
}

export async function startStreamingWorld(): Promise<StreamingWorld> {
  await using starting = new AsyncDisposableStack();
  const dir = await scratchStateDir();
  starting.defer(() => rm(dir, { recursive: true, force: true }));
  const { stack } = starting.use(await startTestStack());
  const { demo, kubeconfigPath } = stack;
  if ('unavailable' in demo) throw new Error(demo.unavailable);
  starting.use(await joinNode(demo.kubeInfo, dir, 'node-1'));
  const { holder, other } = await whoHoldsTheLink(stack);
  const kubectls = {
    own: await streamingKubectls(kubeconfigPath, ['--context', `demo@${holder}`]),
    relay: await streamingKubectls(kubeconfigPath, ['--context', `demo@${other}`]),
  };
  const pods = await runStreamingPods(kubectls.relay.WebSocket);
  const owned = starting.move();
  return { stack, pods, dir, kubectls, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** What kubectl's users do with pods, each by this way and with this protocol. */
export function describeStreams(pairs: readonly (readonly [Via, StreamProtocol])[], of: () => StreamingWorld): void {
  describe.each(pairs)('kubectl at the replica whose way is %s, with %s', (via, protocol) => {
    itStreams(protocol, () => {
      const { kubectls, pods, dir } = of();
      return { kubectl: kubectls[via][protocol], pods, dir, way: via };
    });
  });
}
