import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findBinary, startRealCluster, upstreamImages, type RealCluster } from '@fairlead/testbed';
import type { Stack } from '@fairlead/stack';
import { parse } from 'yaml';
import type { AnyWorld } from '../../chaos/any-world.js';
import { fairlead } from '../../support/fairlead.js';
import { scratchStateDir, startTestStack, whoHoldsTheLink } from '../../support/test-stack.js';
import { runCase, type CaseRun, type Outcome } from './run-case.js';

/** By which way a case reaches the cluster: past us, or by the replica that has to hand its bytes to the other one. */
export type Way = 'directly' | 'through';

/** A cluster with a real node, which upstream's own tests try with and without us. */
export interface ConformanceWorld extends AnyWorld {
  /** What was said last where a case did not pass. */
  readonly log: readonly string[];
  run(name: string, way: Way): Promise<Outcome>;
}

/** Of each case that did not pass. */
const KEPT_LINES = 500;

export async function startConformanceWorld(): Promise<ConformanceWorld> {
  await using starting = new AsyncDisposableStack();
  const dir = await scratchStateDir();
  starting.defer(() => rm(dir, { recursive: true, force: true }));
  const programs = { program: (await findBinary('e2e.test')).path, kubectl: (await findBinary('kubectl')).path };
  const images = await upstreamImages();
  const cluster = starting.use(await startRealCluster({ dataDir: join(dir, 'cluster'), images, log: () => undefined }));
  const { stack } = starting.use(await startTestStack({ demo: false }));
  await stack.startAgent({ clusterName: 'demo', kube: cluster.kube.info });
  const kubeconfig = join(dir, 'kubeconfig');
  await fairlead(stack, 'kubeconfig', 'demo', '--output', kubeconfig);
  await letIn(cluster, stack);
  const ending = new AbortController();
  starting.defer(() => ending.abort());
  const log: string[] = [];
  const run = async (name: string, way: Way): Promise<Outcome> => {
    const home = await mkdtemp(join(dir, 'run-'));
    const to = way === 'directly' ? await pastUs(cluster) : await relayed(stack, kubeconfig);
    const given = { ...programs, ...to, enter: cluster.network.enter, home, logPath: join(home, 'log') };
    const outcome = await runCase(name, { ...given, signal: ending.signal });
    if (!outcome.passed) log.push(`== ${name}, ${way}`, ...outcome.log.split('\n').slice(-KEPT_LINES));
    await rm(home, { recursive: true, force: true });
    return outcome;
  };
  const all = starting.move();
  const whole = (): Promise<void> => whoHoldsTheLink(stack).then(() => undefined);
  return { log, run, whole, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

/** The tests run in the node's network, where Services have addresses; the doors are outside. */
async function letIn({ network }: RealCluster, stack: Stack): Promise<void> {
  for (const { doorUrl } of stack.gateways) await network.carryIn(Number(new URL(doorUrl).port));
}

type To = Pick<CaseRun, 'kubeconfig' | 'context'>;

async function pastUs({ kube }: RealCluster): Promise<To> {
  const kubeconfig = kube.info.adminKubeconfigPath;
  const config = parse(await readFile(kubeconfig, 'utf8')) as { 'current-context': string };
  return { kubeconfig, context: config['current-context'] };
}

async function relayed(stack: Stack, kubeconfig: string): Promise<To> {
  return { kubeconfig, context: `demo@${(await whoHoldsTheLink(stack)).other}` };
}
