import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { entryOf, type Stack, type StackOptions } from '@fairlead/stack';
import { kubectlOf, ownImage, startCluster, type Cluster, type Kubectl } from '@fairlead/testbed';
import { eventually } from '@fairlead/testing';
import { parse, stringify } from 'yaml';
import { fairlead } from '../../support/fairlead.js';
import { succeeds } from '../../support/kubectl-streams.js';
import { runStreamingPods, STREAMING_IMAGES, type StreamingPods } from '../../support/pod-streams.js';
import { scratchStateDir, startTestStack, whoHoldsTheLink } from '../../support/test-stack.js';

/** Through the replica that holds the link, through the other, and past Fairlead. */
export type Way = 'own' | 'relay' | 'direct';

/** An installation and a cluster that runs what is applied to it: Deployments have pods, Services answer. */
export interface ToolsWorld extends AsyncDisposable {
  readonly stack: Stack;
  readonly cluster: Cluster;
  readonly dir: string;
  readonly pods: StreamingPods;
  /** Files that any tool takes, each with one context. */
  readonly kubeconfigs: Readonly<Record<Way, string>>;
  /** As `fairlead kubeconfig` makes it: a context for each replica. */
  readonly kubeconfig: string;
  /** The cluster's own administrator. */
  readonly kubectl: Kubectl;
}

const AGENT_IMAGE = 'localhost/fairlead/agent:tools';
const PATIENCE_MS = 120_000;

export async function startToolsWorld(options: Partial<StackOptions> = {}): Promise<ToolsWorld> {
  await using parts = new AsyncDisposableStack();
  const dir = await scratchStateDir();
  parts.defer(() => rm(dir, { recursive: true, force: true }));
  const images = {
    ...STREAMING_IMAGES,
    [AGENT_IMAGE]: ownImage({ entry: entryOf('agent') }),
  };
  const [cluster, { stack }] = await Promise.all([
    startCluster({ dataDir: join(dir, 'cluster'), images }).then((part) => parts.use(part)),
    startTestStack({ demo: false, agentImage: AGENT_IMAGE, ...options }).then((part) => parts.use(part)),
  ]);
  const direct = cluster.kube.info.adminKubeconfigPath;
  const kubectl = await kubectlOf(direct, { timeoutMs: PATIENCE_MS, log: () => undefined });
  await fairlead(stack, 'cluster', 'create', 'demo', '--links', '1');
  await succeeds(kubectl(['apply', '-f', '-'], await fairlead(stack, 'cluster', 'import', 'demo')));
  // Of two pods each has a link, and there would be no replica that relays.
  await succeeds(kubectl(['scale', '--namespace', 'fairlead-system', 'deployment/fairlead-agent', '--replicas', '1']));
  const kubeconfig = join(dir, 'kubeconfig');
  await fairlead(stack, 'kubeconfig', 'demo', '--output', kubeconfig);
  const { holder, other } = await whoHoldsTheLink(stack);
  const own = await onlyContext(kubeconfig, `demo@${holder}`, join(dir, 'own.kubeconfig'));
  const relay = await onlyContext(kubeconfig, `demo@${other}`, join(dir, 'relay.kubeconfig'));
  // Pods wait for the account that they run as, and a controller makes that one.
  await eventually(() => succeeds(kubectl(['get', 'serviceaccount', 'default'])), { timeoutMs: PATIENCE_MS });
  const pods = await runStreamingPods(kubectl);
  const all = parts.move();
  return {
    stack,
    cluster,
    dir,
    pods,
    kubeconfig,
    kubeconfigs: { own, relay, direct },
    kubectl,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

interface Kubeconfig {
  'current-context': string;
  contexts: { name: string }[];
}

/** Not every tool has an option for the context. */
async function onlyContext(from: string, name: string, to: string): Promise<string> {
  const config = parse(await readFile(from, 'utf8')) as Kubeconfig;
  config['current-context'] = name;
  config.contexts = config.contexts.filter((context) => context.name === name);
  await writeFile(to, stringify(config), { mode: 0o600 });
  return to;
}
