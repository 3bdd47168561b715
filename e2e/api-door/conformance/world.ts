import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findBinary, startRealCluster, upstreamImages, type RealCluster } from '@fairlead/testbed';
import type { Stack } from '@fairlead/stack';
import { parse } from 'yaml';
import type { AnyWorld } from '../../chaos/any-world.js';
import { fairlead } from '../../support/fairlead.js';
import { scratchStateDir, startTestStack, whoHoldsTheLink } from '../../support/test-stack.js';
import { runCase, type Outcome } from './run-case.js';

/** By which way a case reaches the cluster: past us, or by the replica that has to hand its bytes to the other one. */
export type Way = 'directly' | 'through';

/** A cluster with a real node, which upstream's own tests try with and without us. */
export interface ConformanceWorld extends AnyWorld {
  /** The version of Kubernetes whose tests they are. */
  readonly version: string;
  readonly stack: Stack;
  run(name: string, way: Way): Promise<Outcome>;
}

export async function startConformanceWorld(): Promise<ConformanceWorld> {
  await using starting = new AsyncDisposableStack();
  const dir = await scratchStateDir();
  starting.defer(() => rm(dir, { recursive: true, force: true }));
  const [program, kubectl] = [await findBinary('e2e.test'), await findBinary('kubectl')];
  const images = await upstreamImages();
  const cluster = starting.use(await startRealCluster({ dataDir: join(dir, 'cluster'), images, log: () => undefined }));
  const { stack } = starting.use(await startTestStack({ demo: false }));
  await stack.startAgent({ clusterName: 'demo', kube: cluster.kube.info });
  const kubeconfig = join(dir, 'kubeconfig');
  await fairlead(stack, 'kubeconfig', 'demo', '--output', kubeconfig);
  await letIn(cluster, stack);
  const ending = new AbortController();
  starting.defer(() => ending.abort());
  const { adminKubeconfigPath } = cluster.kube.info;
  const [directContext, enter] = [await currentContext(adminKubeconfigPath), cluster.network.enter];
  let runs = 0;
  const run = async (name: string, way: Way): Promise<Outcome> => {
    const home = join(dir, `run-${++runs}`);
    await mkdir(home);
    const to =
      way === 'directly'
        ? { kubeconfig: adminKubeconfigPath, context: directContext }
        : { kubeconfig, context: `demo@${(await whoHoldsTheLink(stack)).other}` };
    const given = { program: program.path, kubectl: kubectl.path, enter, home, logPath: join(home, 'log'), ...to };
    return runCase(name, { ...given, signal: ending.signal });
  };
  const all = starting.move();
  return {
    version: program.version,
    stack,
    run,
    whole: () => whoHoldsTheLink(stack).then(() => undefined),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** The tests run in the node's network, where Services have addresses; the doors are outside. */
async function letIn({ network }: RealCluster, stack: Stack): Promise<void> {
  for (const { doorUrl } of stack.gateways) await network.carryIn(Number(new URL(doorUrl).port));
}

async function currentContext(kubeconfigPath: string): Promise<string> {
  return (parse(await readFile(kubeconfigPath, 'utf8')) as { 'current-context': string })['current-context'];
}
