import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { KubeInfo, Running } from '../components/contract.js';
import { kubectlOf, type Kubectl } from '../components/kubectl.js';
import { startKubernetes } from '../components/kubernetes.js';
import { TestbedError } from '../errors.js';
import { logToStderr, type Log } from '../log.js';
import type { NetworkNamespace } from '../network/network-namespace.js';
import { NODE_ADDRESS, SERVICE_RANGE } from './configuration.js';
import { startNodeControllers } from './controllers.js';
import { dnsManifest } from './dns-manifest.js';
import type { ImageSpec } from './image-archive.js';
import { startMachine } from './machine.js';
import { becomeTheOneNode } from './one-node.js';
import { startNodePrograms, type NodeProgramsInfo } from './node-programs.js';
import { requireNodePrograms } from './requirements.js';

export interface RealClusterOptions {
  /** Holds everything, images and containers too: some 2 GB; made when absent. Not on an overlay file system. */
  readonly dataDir: string;
  /** Default `node-1`. */
  readonly nodeName?: string | undefined;
  /** One that goes on until after this one: both are on this machine, and nobody else's. Default: this is the first. */
  readonly beside?: RealCluster | undefined;
  /** What pods can run beside `shell:1`, `node:1` and `agnhost:1`. */
  readonly images?: readonly ImageSpec[] | undefined;
  readonly log?: Log | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A Kubernetes cluster of one real node. Dispose of it when done. */
export interface RealCluster extends AsyncDisposable {
  readonly kube: Running<KubeInfo>;
  readonly node: Running<NodeProgramsInfo>;
  /** Where all of it runs: who is there reaches Services and pods. */
  readonly network: NetworkNamespace;
  /** Of its pods, from the root of each cgroup hierarchy. */
  readonly cgroup: string;
}

const NODE_READY_MS = 120_000;

/**
 * Starts etcd, kube-apiserver, all controllers, the scheduler, containerd, kubelet, kube-proxy and CoreDNS, in a network of their own
 * that reaches nothing outside. Resolves when the node and the cluster's DNS are ready, and before that waits until no other is on this machine. Needs Linux, root and Debian's packages;
 * throws TestbedError that says which.
 */
export async function startRealCluster(options: RealClusterOptions): Promise<RealCluster> {
  const { nodeName = 'node-1', beside, images = [], log = logToStderr, signal } = options;
  await requireNodePrograms(log);
  const dataDir = resolve(options.dataDir);
  const folder = async (name: string): Promise<string> => {
    await mkdir(join(dataDir, name), { recursive: true, mode: 0o711 });
    return join(dataDir, name);
  };
  await using starting = new AsyncDisposableStack();
  // Folders that both know by heart are there until the first one is gone.
  if (!beside) starting.use(await becomeTheOneNode({ log, signal }));
  const machine = starting.use(await startMachine(`fairlead-${randomBytes(4).toString('hex')}`));
  const { network, cgroup } = machine;
  const kube = starting.use(
    await startKubernetes({
      dataDir: await folder('kubernetes'),
      asProcesses: true,
      serviceAccounts: true,
      serviceRange: SERVICE_RANGE,
      inside: { network, address: NODE_ADDRESS },
      log,
      signal,
    }),
  );
  const given = { kube: kube.info, pkiDir: kube.info.pkiDir!, log, signal };
  starting.use(await startNodeControllers({ ...given, dataDir: await folder('controllers'), network }));
  const nodeDir = await folder('node');
  const node = starting.use(await startNodePrograms({ ...given, dataDir: nodeDir, nodeName, machine, images }));
  await untilAllReady(await kubectlOf(kube.info.adminKubeconfigPath, { log, timeoutMs: 2 * NODE_READY_MS }), nodeName);
  const all = starting.move();
  return { kube, node, network, cgroup, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

async function untilAllReady(kubectl: Kubectl, nodeName: string): Promise<void> {
  const must = async (args: readonly string[], stdin?: string): Promise<void> => {
    const { code, stderr } = await kubectl(args, stdin);
    if (code !== 0) throw new TestbedError(`the real node is not ready: kubectl ${args.join(' ')}: ${stderr}`);
  };
  const timeout = `--timeout=${NODE_READY_MS / 1000}s`;
  await must(['wait', '--for=create', `node/${nodeName}`, timeout]);
  await must(['apply', '-f', '-'], dnsManifest());
  await must(['wait', '--for=condition=Ready', `node/${nodeName}`, timeout]);
  await must(['--namespace=kube-system', 'rollout', 'status', 'deployment/coredns', timeout]);
}
