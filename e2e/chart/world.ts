import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROLES } from '@fairlead/contracts';
import { REPOSITORY } from '@fairlead/stack';
import {
  NATS_IMAGE,
  POSTGRES_IMAGE,
  POSTGRES_USER,
  enforcePolicies,
  findBinary,
  kubectlOf,
  serverImages,
  startRealCluster,
  type PolicyEnforcer,
  type RealCluster,
} from '@fairlead/testbed';
import { runTool } from '../support/run-tool.js';
import { appImage } from '../support/app-image.js';
import { scratchStateDir } from '../support/test-stack.js';

export const NAMESPACE = 'fairlead';
export const ELSEWHERE = 'elsewhere';
const CHART = join(REPOSITORY, 'charts', 'fairlead');
/** The node's own address, as `tools/testbed/node` gives it. */
export const NODE_ADDRESS = '198.18.255.2';
const INSTALL_MS = 420_000;

/** A real node that can run the control plane, with nothing of it there yet. */
export interface ChartWorld extends AsyncDisposable {
  readonly cluster: RealCluster;
  /** What it printed; throws unless it succeeded. */
  kubectl(...args: string[]): Promise<string>;
  /** With the profile `single`, and what whoever installs it has to say. */
  helm(command: 'install' | 'upgrade', ...args: string[]): Promise<string>;
  /** The `fairlead` command in the node's network, where NodePorts are. */
  fairlead(...args: string[]): Promise<string>;
  /** Leaves `root.pem` and `token` in `dir`, by the commands of the chart's README, and logs in. */
  login(): Promise<void>;
  /** For what is run as that command is: its variables. */
  readonly env: Readonly<Record<string, string>>;
  readonly apiUrl: string;
  readonly policies: PolicyEnforcer;
  readonly dir: string;
}

export const local = (name: string): string => `localhost/fairlead/${name}:1`;
const APPS = [...ROLES, 'setup'];

export interface ChartWorldOptions {
  /** The name, or address, of the doors and of what agents dial. */
  readonly gateways?: string;
  /** Values besides, which hold for each `helm` command. */
  readonly values?: Readonly<Record<string, unknown>>;
}

export async function startChartWorld(options: ChartWorldOptions = {}): Promise<ChartWorld> {
  await using starting = new AsyncDisposableStack();
  const dir = await scratchStateDir();
  starting.defer(() => rm(dir, { recursive: true, force: true }));
  const images = [...(await serverImages()), ...(await Promise.all(APPS.map((app) => appImage(app, local(app)))))];
  const cluster = starting.use(await startRealCluster({ dataDir: join(dir, 'cluster'), images, log: () => undefined }));
  const kubeconfig = cluster.kube.info.adminKubeconfigPath;
  const asked = await kubectlOf(kubeconfig, { timeoutMs: INSTALL_MS });
  const kubectl = async (args: readonly string[], stdin?: string): Promise<string> => {
    const { code, stdout, stderr } = await asked(args, stdin);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
    return stdout.toString();
  };
  await prepareNode(kubectl, dir);
  const policies = starting.use(await enforcePolicies(cluster.network, asked));
  const values = await writeValues(dir, Number(new URL(cluster.kube.info.url).port), options);
  const helm = (await findBinary('helm')).path;
  const home = join(dir, 'home');
  await mkdir(home);
  const [nsenter = '', ...where] = cluster.network.enter;
  const cli = [process.execPath, join(REPOSITORY, 'apps', 'cli', 'dist', 'bundle', 'main.js')];
  const env = { FAIRLEAD_HOME: join(home, 'fairlead'), HOME: home };
  const fairlead: ChartWorld['fairlead'] = (...args) => runTool(nsenter, [...where, ...cli, ...args], env);
  const apiUrl = `https://${NODE_ADDRESS}:30070`;
  const inNamespace: ChartWorld['kubectl'] = (...args) => kubectl(['-n', NAMESPACE, ...args]);
  const owned = starting.move();
  return {
    cluster,
    dir,
    policies,
    apiUrl,
    env,
    fairlead,
    kubectl: inNamespace,
    async login() {
      const main = ['node', 'apps/api/dist/bundle/main.js', 'serving-root'];
      const root = await inNamespace('exec', 'deploy/fairlead-api', '-c', 'main', '--', ...main);
      await writeFile(join(dir, 'root.pem'), /-----BEGIN[^]*END CERTIFICATE-----\n/.exec(root)?.[0] ?? '');
      const token = await inNamespace('get', 'secret', 'fairlead-access', '-o', 'jsonpath={.data.admin-token}');
      await writeFile(join(dir, 'token'), Buffer.from(token, 'base64'), { mode: 0o600 });
      const files = ['--ca-file', join(dir, 'root.pem'), '--token-file', join(dir, 'token')];
      await fairlead('login', '--server', apiUrl, ...files);
    },
    helm: (command, ...args) => {
      const given = ['-f', join(CHART, 'profiles', 'single.yaml'), '-f', values, '--wait', '--wait-for-jobs'];
      const all = [command, 'fairlead', CHART, '-n', NAMESPACE, ...given, '--timeout', `${INSTALL_MS / 1_000}s`];
      const env = { KUBECONFIG: kubeconfig, HOME: home };
      return runTool(helm, [...all, ...args], env, { timeoutMs: INSTALL_MS + 30_000 }).catch(async (cause: unknown) => {
        const seen = await Promise.all(
          [
            ['get', 'pods,jobs,pvc'],
            ['get', 'events'],
            ['logs', '--tail=20', '--prefix', '-l', 'app.kubernetes.io/part-of=fairlead'],
          ].map((command) => kubectl(['-n', NAMESPACE, ...command]).catch(String)),
        );
        throw new Error([String(cause), ...seen].join('\n'), { cause });
      });
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Two namespaces that admit restricted pods only, a pod of nobody in each, and two volumes: the node has no storage class. */
async function prepareNode(
  kubectl: (args: readonly string[], stdin: string) => Promise<string>,
  dir: string,
): Promise<void> {
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  const volumes = await Promise.all(['one', 'two'].map((name) => volume(name, join(dir, 'volumes', name))));
  const namespaces = [NAMESPACE, ELSEWHERE].map((name) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels },
  }));
  const items = [...namespaces, ...[NAMESPACE, ELSEWHERE].map(bystander), ...volumes];
  await kubectl(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
}

/** It waits for somebody who tries a connection from there. */
function bystander(namespace: string): object {
  const securityContext = {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    runAsNonRoot: true,
    runAsUser: 65_532,
    seccompProfile: { type: 'RuntimeDefault' },
  };
  const main = { name: 'main', image: 'node:1', imagePullPolicy: 'Never', args: ['setInterval(() => {}, 1e9)'] };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'bystander', namespace },
    spec: { automountServiceAccountToken: false, containers: [{ ...main, securityContext }] },
  };
}

async function volume(name: string, path: string): Promise<object> {
  await mkdir(path, { recursive: true });
  // A kubelet gives a folder of the node to no pod's group.
  await chmod(path, 0o777);
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      capacity: { storage: '2Gi' },
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'on-the-node',
      hostPath: { path, type: 'Directory' },
    },
  };
}

async function writeValues(
  dir: string,
  kubePort: number,
  { gateways = 'gateway.example.test', values: more = {} }: ChartWorldOptions,
): Promise<string> {
  const path = join(dir, 'values.json');
  const ours = [...APPS, 'agent', 'installer'].map((name) => [name, local(name)]);
  const values = {
    images: { ...Object.fromEntries(ours), nats: NATS_IMAGE, postgres: POSTGRES_IMAGE },
    names: { api: NODE_ADDRESS, gateways },
    // What the Service of the kube-apiserver becomes before a policy sees it.
    networkPolicies: { kubeApiserver: { ports: [443, kubePort] } },
    bundled: { localImages: true, postgresUser: POSTGRES_USER, storage: { storageClassName: 'on-the-node' } },
    ...more,
  };
  await writeFile(path, JSON.stringify(values));
  return path;
}
