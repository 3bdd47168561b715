// @tier full: needs root and Debian's packages, and takes 0.7 GB; `components/kubelet.int.spec.ts` shows pods on the test kubelet
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { kubectlOf, type Kubectl } from '../components/kubectl.js';
import { temporaryDirectory } from '../fixtures/temporary.js';
import { LONGEST_NODE_MS, becomeTheOneNode } from './one-node.js';
import { startRealCluster, type RealCluster } from './real-cluster.js';

const START_MS = 240_000;
/** There may be another real node on this machine first. */
const START_AFTER_ANOTHER_MS = START_MS + LONGEST_NODE_MS;
const CA = '/var/run/secrets/kubernetes.io/serviceaccount/ca.crt';
const ASK_VERSION = `fetch('https://kubernetes.default.svc/version').then((answer) => answer.json()).then(({ gitVersion }) => console.log(gitVersion))`;
const SETTINGS = [
  'fs/inotify/max_user_instances',
  'vm/overcommit_memory',
  'kernel/panic',
  'kernel/panic_on_oops',
  'kernel/keys/root_maxkeys',
];

let dir: Awaited<ReturnType<typeof temporaryDirectory>>;
let cluster: RealCluster | undefined;
let kubectl: Kubectl;
let before: Awaited<ReturnType<typeof look>>;

beforeAll(async () => {
  dir = await temporaryDirectory();
  before = await look();
  cluster = await startRealCluster({ dataDir: dir.path });
  kubectl = await kubectlOf(cluster.kube.info.adminKubeconfigPath, { timeoutMs: 120_000 });
}, START_AFTER_ANOTHER_MS);
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
  await dir?.[Symbol.asyncDispose]();
}, START_MS);

/** While there is no real node: another one would show. */
async function look(): Promise<{ settings: string[]; mounts: string[]; folders: string[] }> {
  using _alone = await becomeTheOneNode({ log: () => undefined });
  return { settings: settings(), mounts: mounts(), folders: folders() };
}

function settings(): string[] {
  return SETTINGS.map((name) => readFileSync(join('/proc/sys', name), 'utf8'));
}
function mounts(): string[] {
  return readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .filter((line) => /cni|containerd|kubelet|fairlead/u.test(line));
}
function folders(): string[] {
  return ['/var/lib/cni', '/var/lib/kubelet', '/var/log/containers', '/run/containerd'].filter((path) =>
    existsSync(path),
  );
}

/** What it printed; throws unless it succeeded. */
async function succeeds(args: readonly string[], stdin?: string): Promise<string> {
  const { code, stdout, stderr } = await kubectl(args, stdin);
  expect([code, stderr]).toEqual([0, expect.not.stringContaining('rror')]);
  return stdout.toString();
}

const container = (name: string, image: string, args: string[], more = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { name } },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [{ name: 'main', image, imagePullPolicy: 'Never', args, ...more }],
  },
});

it(
  'runs containers in namespaces of their own, which reach each other, Services and the API server by name',
  { timeout: START_MS },
  async () => {
    const readinessProbe = { httpGet: { path: '/', port: 8080 }, periodSeconds: 1 };
    const items = [
      container('web', 'agnhost:1', ['netexec', '--http-port=8080'], { readinessProbe }),
      container('shell', 'shell:1', ['sleep 10000']),
      container('node', 'node:1', ['setInterval(() => {}, 10000)']),
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'web' },
        spec: { selector: { name: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
      },
    ];
    await succeeds(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    await succeeds(['wait', '--for=condition=Ready', 'pod/web', 'pod/shell', 'pod/node', '--timeout=90s']);
    const inShell = (script: string) => succeeds(['exec', 'shell', '--', 'sh', '-c', script]);
    expect(await inShell('hostname; ps | grep -c "[s]leep 10000"')).toBe('shell\n1\n');
    expect(await inShell('wget -qO- http://web/hostname')).toBe('web');
    expect(await inShell('wget -qO- http://web.default.svc.cluster.local/hostname')).toBe('web');
    const version = await succeeds([
      'exec',
      'node',
      '--',
      'env',
      `NODE_EXTRA_CA_CERTS=${CA}`,
      'node',
      '-e',
      ASK_VERSION,
    ]);
    expect(version).toBe(`${cluster!.kube.info.version}\n`);
    const failing = await kubectl(['exec', 'shell', '--', 'sh', '-c', 'exit 7']);
    expect(failing.code).toBe(7);
    // Nothing leads out of it.
    expect(
      await inShell('ip route | grep -c default; wget -T 2 -qO- http://192.0.2.1/ 2>&1 || echo unreachable'),
    ).toMatch(/unreachable/u);
  },
);

it('serves logs, and ends what runs in a namespace that is deleted', { timeout: START_MS }, async () => {
  await succeeds(['create', 'namespace', 'short']);
  const pod = container('teller', 'shell:1', ['echo told; sleep 10000']);
  await succeeds(['--namespace=short', 'apply', '-f', '-'], JSON.stringify(pod));
  await succeeds(['--namespace=short', 'wait', '--for=condition=Ready', 'pod/teller', '--timeout=90s']);
  expect(await succeeds(['--namespace=short', 'logs', 'teller'])).toBe('told\n');
  await succeeds(['delete', 'namespace', 'short', '--timeout=90s']);
});

it('leaves nothing behind', { timeout: START_AFTER_ANOTHER_MS }, async () => {
  const { cgroup, node, network } = cluster!;
  const { stdout } = await promisify(execFile)('ctr', [
    `--address=${node.info.socket}`,
    '-n=k8s.io',
    'tasks',
    'list',
    '-q',
  ]);
  expect(stdout.trim().split('\n').length).toBeGreaterThan(4);
  await cluster![Symbol.asyncDispose]();
  cluster = undefined;
  expect(await look()).toEqual(before);
  const hierarchies = readdirSync('/sys/fs/cgroup').map((name) => join('/sys/fs/cgroup', name, cgroup));
  expect([join('/sys/fs/cgroup', cgroup), ...hierarchies].filter((path) => existsSync(path))).toEqual([]);
  const [holder] = network.enter.slice(network.enter.indexOf('--target') + 1);
  expect(existsSync(`/proc/${holder}`)).toBe(false);
  const commands = readdirSync('/proc')
    .filter((name) => /^\d+$/u.test(name))
    .map((pid) => (existsSync(`/proc/${pid}/cmdline`) ? readFileSync(`/proc/${pid}/cmdline`, 'utf8') : ''));
  expect(commands.filter((command) => command.includes(dir.path))).toEqual([]);
});
