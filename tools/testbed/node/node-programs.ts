import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findBinary, type FindOptions } from '../binaries/find-binary.js';
import type { KubeInfo, Running } from '../components/contract.js';
import { clientKubeconfig } from '../components/kubeconfig.js';
import { issueClient, issueServing } from '../components/kubernetes-pki.js';
import { runServer, untilReady, type Launch } from '../components/running.js';
import type { Child } from '../process/launch.js';
import {
  cniConfig,
  containerdConfig,
  kubeletConfig,
  NODE_ADDRESS,
  POD_RANGE,
  type NodePaths,
} from './configuration.js';
import { writeImage, type ImageSpec } from './image-archive.js';
import { nodeImages } from './images.js';
import type { Machine } from './machine.js';

export interface NodeOptions extends FindOptions {
  readonly dataDir: string;
  readonly kube: KubeInfo;
  readonly pkiDir: string;
  readonly nodeName: string;
  readonly machine: Machine;
  /** Beside its own. */
  readonly images: readonly ImageSpec[];
}

export interface NodeProgramsInfo {
  readonly nodeName: string;
  /** Of containerd: for `ctr --address`. */
  readonly socket: string;
}

const READY_TIMEOUT_MS = 120_000;
const IMPORT_TIMEOUT_MS = 300_000;

/** containerd with its images, kubelet and kube-proxy. Ended, they take every container along. */
export async function startNodePrograms(options: NodeOptions): Promise<Running<NodeProgramsInfo>> {
  const { dataDir, nodeName, machine } = options;
  const socket = join(dataDir, 'containerd.sock');
  const paths: NodePaths = { dir: dataDir, socket, cgroup: machine.cgroup };
  const kubelet = await findBinary('kubelet', options);
  const proxy = await findBinary('kube-proxy', options);
  const archives = await writeImages(options);
  await configure(options, paths);
  return runServer<NodeProgramsInfo>({
    dataDir,
    info: { nodeName, socket },
    async start(launch) {
      const starter = starterOf(options, launch);
      const containerd = await starter(
        'containerd',
        ['unshare', ...OWN_PROCESSES, 'containerd'],
        [`--config=${join(dataDir, 'containerd.toml')}`],
      );
      const ctr = (...args: string[]) =>
        promisify(execFile)('ctr', [`--address=${socket}`, '--namespace=k8s.io', ...args], {
          timeout: IMPORT_TIMEOUT_MS,
        });
      const probe = () => ctr('version').then(() => undefined);
      await untilReady({ child: containerd, probe, timeoutMs: READY_TIMEOUT_MS, signal: options.signal });
      for (const archive of archives) await ctr('images', 'import', archive);
      await starter(
        'kubelet',
        [kubelet.path],
        [
          `--config=${join(dataDir, 'kubelet.json')}`,
          `--kubeconfig=${join(dataDir, 'kubelet.kubeconfig')}`,
          `--root-dir=${join(dataDir, 'kubelet')}`,
          `--hostname-override=${nodeName}`,
          `--node-ip=${NODE_ADDRESS}`,
        ],
      );
      await starter(
        'kube-proxy',
        [proxy.path],
        [
          `--kubeconfig=${options.kube.adminKubeconfigPath}`,
          `--hostname-override=${nodeName}`,
          '--proxy-mode=iptables',
          `--cluster-cidr=${POD_RANGE}`,
          // The kernel's own, which this network may not raise.
          '--conntrack-max-per-core=0',
          '--conntrack-tcp-timeout-established=0s',
          '--conntrack-tcp-timeout-close-wait=0s',
        ],
      );
    },
  });
}

/**
 * Containers are children of daemons, not of ours: in a process namespace that ends with containerd, the kernel ends them all, also
 * when whoever started this is killed. `unshare` waits for it and hears nothing but SIGKILL.
 */
const OWN_PROCESSES = ['--pid', '--fork', '--kill-child', '--mount-proc', '--propagation=slave'];

type Starter = (name: string, command: readonly [string, ...string[]], args: readonly string[]) => Promise<Child>;

function starterOf({ dataDir, machine }: NodeOptions, launch: Launch): Starter {
  return (name, [path, ...first], args) =>
    launch({
      name,
      path,
      args: [...first, ...args],
      enter: machine.network.enter,
      logPath: join(dataDir, `${name}.log`),
      cwd: dataDir,
      stopSignal: path === 'unshare' ? 'SIGKILL' : 'SIGTERM',
    });
}

async function writeImages(options: NodeOptions): Promise<string[]> {
  const folder = join(options.dataDir, 'images');
  await mkdir(folder, { recursive: true });
  const written: string[] = [];
  for (const image of [...(await nodeImages(options)), ...options.images]) {
    const path = join(folder, `${image.name.replaceAll(/[/:]/gu, '-')}.tar`);
    await writeImage(path, image);
    written.push(path);
  }
  return written;
}

async function configure({ dataDir, kube, pkiDir, nodeName }: NodeOptions, paths: NodePaths): Promise<void> {
  await mkdir(join(dataDir, 'cni'), { recursive: true });
  await issueServing(pkiDir, { dir: dataDir, file: 'kubelet-serving', name: nodeName, ip: NODE_ADDRESS });
  const subject = `O=system:nodes,CN=system:node:${nodeName}`;
  await issueClient(pkiDir, { dir: dataDir, file: 'kubelet-client', subject });
  const client = { certPath: join(dataDir, 'kubelet-client.crt'), keyPath: join(dataDir, 'kubelet-client.key') };
  const files = {
    'containerd.toml': containerdConfig(paths),
    'cni/10-pods.conflist': cniConfig(paths),
    'kubelet.json': kubeletConfig(paths, pkiDir),
    'kubelet.kubeconfig': await clientKubeconfig({ url: kube.url, caPath: join(pkiDir, 'ca.crt'), ...client }),
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(dataDir, name), text, { mode: 0o600 });
}
