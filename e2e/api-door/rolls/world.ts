import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Stack } from '@fairlead/stack';
import { findBinary } from '@fairlead/testbed';
import { eventually } from '@fairlead/testing';
import { parse, stringify } from 'yaml';
import type { AnyWorld } from '../../chaos/any-world.js';
import { Journal } from '../../chaos/journal.js';
import { startDoorBalancer, type DoorBalancer } from '../../support/door-balancer.js';
import { isReady } from '../../support/replicas.js';
import { scratchStateDir, startTestStack, whoHoldsTheLink } from '../../support/test-stack.js';

/** Two replicas, a balancer before them, and programs on client-go that reach the demo cluster by any of the three. */
export interface RollsWorld extends AnyWorld {
  readonly stack: Stack;
  readonly balancer: DoorBalancer;
  /** Of `contexts`: `balanced`, and one for each replica. */
  readonly kubeconfig: string;
  readonly contexts: readonly string[];
  /** Leads to the kube-apiserver itself. */
  readonly direct: string;
  /** `client-go-trial`, and the client-go that it is built on. */
  readonly program: { readonly path: string; readonly version: string };
  /** What the processes log. */
  readonly journal: Journal;
}

const BALANCED = 'balanced';
const READY_WITHIN_MS = 60_000;

export async function startRollsWorld(): Promise<RollsWorld> {
  await using parts = new AsyncDisposableStack();
  const dir = await scratchStateDir();
  parts.defer(() => rm(dir, { recursive: true, force: true }));
  const program = await findBinary('client-go-trial');
  const journal = new Journal();
  const { stack } = parts.use(await startTestStack({ log: journal.hear }));
  if ('unavailable' in stack.demo) throw new Error(stack.demo.unavailable);
  const balancer = parts.use(await startDoorBalancer(stack.gateways));
  const kubeconfig = join(dir, 'kubeconfig');
  await writeFile(kubeconfig, withBalancer(await readFile(stack.kubeconfigPath, 'utf8'), balancer.host));
  const contexts = [BALANCED, ...stack.gateways.map(({ name }) => `demo@${name}`)];
  const direct = stack.demo.adminKubeconfigPath;
  const all = parts.move();
  return {
    stack,
    balancer,
    kubeconfig,
    contexts,
    direct,
    program,
    journal,
    whole: () => everybodyIsThere(stack),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

interface Kubeconfig {
  clusters: { name: string; cluster: { server: string } }[];
  contexts: { name: string; context: { cluster: string } }[];
}

/** The kubeconfig of an installation whose doors have one address: the first context once more, with that address. */
function withBalancer(text: string, host: string): string {
  const config = parse(text) as Kubeconfig;
  const [cluster, context] = [structuredClone(config.clusters[0]!), structuredClone(config.contexts[0]!)];
  const server = new URL(cluster.cluster.server);
  server.host = host;
  cluster.cluster.server = server.href;
  [cluster.name, context.name, context.context.cluster] = [BALANCED, BALANCED, BALANCED];
  config.clusters.push(cluster);
  config.contexts.push(context);
  return stringify(config);
}

/** Asks a replica to stop, waits until it has, and starts it again, as a Deployment rolls a pod; until the agent has its link again. */
export async function roll({ stack }: RollsWorld, name: string, pauseMs: number): Promise<void> {
  const process = stack.process(name);
  process.kill('SIGTERM');
  await process.exited;
  await process.restart();
  await everybodyIsThere(stack);
  await sleep(pauseMs);
}

async function everybodyIsThere(stack: Stack): Promise<void> {
  await eventually(
    async () => {
      for (const gateway of stack.gateways)
        if (!(await isReady(gateway))) throw new Error(`${gateway.name} is not ready`);
    },
    { timeoutMs: READY_WITHIN_MS },
  );
  await whoHoldsTheLink(stack);
}
