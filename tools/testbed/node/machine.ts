import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rmdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { TestbedError } from '../errors.js';
import { startNetworkNamespace, type NetworkNamespace } from '../network/network-namespace.js';
import { NODE_ADDRESS, SERVICE_RANGE } from './configuration.js';

const CGROUPS = '/sys/fs/cgroup';
/** For each log that is followed, a kubelet watches a file; Linux lets a user have 128 such watchers, and nodes have more. */
const WATCHERS = { name: 'fs/inotify/max_user_instances', least: 1024 };
/** What a kubelet sets for the whole machine, and what is set for it. */
const SETTINGS = [
  WATCHERS.name,
  'vm/overcommit_memory',
  'vm/panic_on_oom',
  'kernel/panic',
  'kernel/panic_on_oops',
  'kernel/keys/root_maxkeys',
  'kernel/keys/root_maxbytes',
];
/** Folders that container runtimes and kubelets know by heart: of the node alone, and empty. */
const OWN_FOLDERS = ['/var/lib/cni', '/var/lib/kubelet', '/var/log/containers', '/run/containerd'];
const GONE_MS = 20_000;

/** A part of this machine that a node has to itself: a network, mounts and cgroups. */
export interface Machine extends AsyncDisposable {
  readonly network: NetworkNamespace;
  /** Of its cgroups, from the root of each hierarchy. */
  readonly cgroup: string;
}

/** Disposed of when nothing runs in it any more, it leaves nothing behind, and the machine's settings as they were. */
export async function startMachine(id: string): Promise<Machine> {
  await using starting = new AsyncDisposableStack();
  starting.use(await keepSettings());
  await allowWatchers();
  const made = await makeFolders();
  starting.defer(() => removeFolders(made));
  const cgroup = `/${id}`;
  starting.defer(() => removeCgroups(cgroup));
  await makeCgroups(cgroup);
  const network = starting.use(await startNetworkNamespace({ ownMounts: true }));
  await furnish(network);
  const running = starting.move();
  return { network, cgroup, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** An address for the node, a route to choose for Services before they are translated, and what Linux needs to carry for pods. */
async function furnish(network: NetworkNamespace): Promise<void> {
  const script = [
    'set -e',
    // Both ends are here: it leads nowhere, and every kernel that runs pods has it.
    'ip link add node0 type veth peer name node0-end',
    `ip addr add ${NODE_ADDRESS}/30 dev node0`,
    'ip link set node0 up; ip link set node0-end up',
    `ip route add ${SERVICE_RANGE} dev node0`,
    'echo 1 > /proc/sys/net/ipv4/ip_forward',
    // Or pods on one bridge would pass by Services.
    'echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables',
    // A container's mounts may be shared with the kubelet's, and with nobody else's.
    'mount --make-rshared /',
    ...OWN_FOLDERS.map((folder) => `mount -t tmpfs -o mode=755 fairlead ${folder}`),
  ];
  const [nsenter = '', ...where] = network.enter;
  const args = [...where, 'sh', '-c', script.join('\n')];
  await promisify(execFile)(nsenter, args, { timeout: 30_000 }).catch((cause: unknown) => {
    throw new TestbedError(`the network of a real node cannot be set up: ${String(cause)}`, { cause });
  });
}

async function keepSettings(): Promise<AsyncDisposable> {
  const before = new Map<string, string>();
  for (const name of SETTINGS) {
    const path = join('/proc/sys', name);
    if (existsSync(path)) before.set(path, await readFile(path, 'utf8'));
  }
  return {
    async [Symbol.asyncDispose]() {
      for (const [path, value] of before) if ((await readFile(path, 'utf8')) !== value) await writeFile(path, value);
    },
  };
}

async function allowWatchers(): Promise<void> {
  const path = join('/proc/sys', WATCHERS.name);
  if (Number(await readFile(path, 'utf8')) < WATCHERS.least) await writeFile(path, `${WATCHERS.least}`);
}

/** Those that were not there. */
async function makeFolders(): Promise<string[]> {
  const missing = OWN_FOLDERS.filter((folder) => !existsSync(folder));
  for (const folder of missing) await mkdir(folder, { recursive: true });
  return missing;
}

async function removeFolders(folders: readonly string[]): Promise<void> {
  // Somebody else may use them by now.
  for (const folder of folders) await rmdir(folder).catch(() => undefined);
}

/** In each hierarchy, or in the one there is. */
async function hierarchies(): Promise<string[]> {
  if (existsSync(join(CGROUPS, 'cgroup.controllers'))) return [CGROUPS];
  return (await readdir(CGROUPS))
    .map((name) => join(CGROUPS, name))
    .filter((path) => existsSync(join(path, 'cgroup.procs')));
}

async function makeCgroups(cgroup: string): Promise<void> {
  for (const root of await hierarchies()) {
    const path = join(root, cgroup);
    await mkdir(path);
    if (basename(root) !== 'cpuset') continue;
    // A new one has neither processors nor memory, and nothing can run in it.
    for (const file of ['cpuset.cpus', 'cpuset.mems'])
      await writeFile(join(path, file), await readFile(join(root, file)));
  }
}

/** The processes in them have been killed; the kernel takes a moment. */
async function removeCgroups(cgroup: string): Promise<void> {
  const deadline = Date.now() + GONE_MS;
  for (const root of await hierarchies()) {
    const path = join(root, cgroup);
    while (existsSync(path) && !(await isRemoved(path))) {
      if (Date.now() > deadline) throw new TestbedError(`${path} still has processes in it`);
      await sleep(50);
    }
  }
}

async function isRemoved(path: string): Promise<boolean> {
  const children = await readdir(path, { withFileTypes: true }).catch(() => []);
  let removed = true;
  for (const child of children) if (child.isDirectory()) removed = (await isRemoved(join(path, child.name))) && removed;
  return (
    removed &&
    (await rmdir(path).then(
      () => true,
      (error: NodeJS.ErrnoException) => error.code === 'ENOENT',
    ))
  );
}
