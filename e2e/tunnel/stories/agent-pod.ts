import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Stack } from '@fairlead/stack';
import { kubectlOf, ownImage, podProcesses, startCluster, type Cluster, type Kubectl } from '@fairlead/testbed';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fairlead } from '../../support/fairlead.js';
import { succeeds } from '../../support/kubectl-streams.js';
import { sharedStack } from '../../support/shared-stack.js';
import { AGENT_POD_IMAGE } from '../agent-pod-image.js';

const ENTRY = fileURLToPath(new URL('../../../apps/agent/dist/bundle/main.js', import.meta.url));
const PATIENCE = '--timeout=120s';
const SELECTOR = 'app.kubernetes.io/name=fairlead-agent';

let started: AsyncDisposableStack;
let stack: Stack;
let cluster: Cluster;
let kubectl: Kubectl;

beforeAll(async () => {
  started = new AsyncDisposableStack();
  ({ stack } = sharedStack());
  const dataDir = join(stack.stateDir, 'edge');
  const images = { [AGENT_POD_IMAGE]: ownImage({ entry: ENTRY }) };
  cluster = started.use(await startCluster({ dataDir, images, log: () => undefined }));
  kubectl = await kubectlOf(cluster.kube.info.adminKubeconfigPath, { timeoutMs: 150_000, log: () => undefined });
});
afterAll(() => started?.disposeAsync());

async function isOnline(): Promise<void> {
  const { presence } = JSON.parse(await fairlead(stack, 'cluster', 'show', 'edge', '-o', 'json')) as {
    presence: { state: string };
  };
  expect(presence.state).toBe('online');
}

describe('the agent in a pod, with what its import manifest gives it', () => {
  it('joins, and its probes say that it is ready', async () => {
    await fairlead(stack, 'cluster', 'create', 'edge');
    await succeeds(kubectl(['apply', '-f', '-'], await fairlead(stack, 'cluster', 'import', 'edge')));
    await succeeds(kubectl(['rollout', 'status', 'deployment/fairlead-agent', '-n', 'fairlead-system', PATIENCE]));
    await eventually(isOnline, { timeoutMs: 60_000 });
  });

  it('is restarted when it is killed, and is back under the same identity', async () => {
    const [before] = await podProcesses(kubectl, 'fairlead-system', SELECTOR);
    process.kill(before!.pid, 'SIGKILL');
    await eventually(
      async () => {
        const [after] = await podProcesses(kubectl, 'fairlead-system', SELECTOR);
        expect(after).toMatchObject({ pod: before!.pod });
        expect(after!.pid).not.toBe(before!.pid);
      },
      { timeoutMs: 60_000 },
    );
    await succeeds(kubectl(['wait', '--for=condition=Ready', `pod/${before!.pod}`, '-n', 'fairlead-system', PATIENCE]));
    await eventually(isOnline, { timeoutMs: 60_000 });
  });
});
