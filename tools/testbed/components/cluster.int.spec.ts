// @tier full: e2e/tunnel/stories/agent-pod and e2e/gitops/follow run Deployments with Secrets, accounts, probes and Services on such a cluster
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { findBinary } from '../binaries/find-binary.js';
import { temporaryDirectory } from '../fixtures/temporary.js';
import { startCluster, type Cluster } from './cluster.js';
import { kubectlOf, type Kubectl } from './kubectl.js';
import { ownImage } from './own-image.js';
import { podProcesses } from './processes.js';

const SHELL = 'fairlead.test/shell';
const WEB = 'fairlead.test/web';
/** Healthy until it is asked to be sick. */
const WEB_SERVER = `
let sick = false;
const server = require('node:http').createServer((request, response) => {
  sick ||= request.url === '/sicken';
  response.writeHead(sick && request.url === '/healthz' ? 500 : 200).end(process.env.FAIRLEAD_SERVICE_ACCOUNT_DIR);
});
const [host, port] = process.env.FAIRLEAD_HEALTH_LISTEN.split(':');
server.listen(Number(port), host);`;

const PATIENCE = '--timeout=90s';
const quiet = { log: () => {} };

let dir: Awaited<ReturnType<typeof temporaryDirectory>>;
let cluster: Cluster;
let kubectl: Kubectl;

beforeAll(async () => {
  vi.stubEnv('FAIRLEAD_TESTBED_PROVIDERS', 'path,download,go');
  dir = await temporaryDirectory();
  const web = ownImage({ entry: '-e', healthPort: 8080 });
  const images = {
    [SHELL]: ['/bin/sh', '-c'],
    [WEB]: { ...web, program: [...web.program, WEB_SERVER] },
  };
  cluster = await startCluster({ dataDir: join(dir.path, 'cluster'), images, ...quiet });
  kubectl = await kubectlOf(cluster.kube.info.adminKubeconfigPath, { timeoutMs: 120_000, ...quiet });
});

afterAll(async () => {
  await cluster?.stop();
  await dir?.[Symbol.asyncDispose]();
  vi.unstubAllEnvs();
});

const insist: Kubectl['insist'] = (...run) => kubectl.insist(...run);
const read = (pod: string, path: string): Promise<string> => insist(['get', 'pod', pod, `-o=jsonpath={${path}}`]);

async function becomes(pod: string, path: string, value: string): Promise<void> {
  await insist(['wait', `--for=jsonpath={${path}}=${value}`, `pod/${pod}`, PATIENCE]);
}

const WAITING = '.status.containerStatuses[0].state.waiting';

async function apply(...objects: object[]): Promise<void> {
  await insist(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
}

function configMap(name: string, data: Readonly<Record<string, string>>): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data };
}

interface ShellPod {
  readonly env?: readonly object[];
  readonly volumes?: readonly object[];
  readonly mounts?: readonly object[];
}

function shellPod(name: string, script: string, { env = [], volumes = [], mounts = [] }: ShellPod): object {
  const container = { name: 'main', image: SHELL, args: [script], env, volumeMounts: mounts };
  const spec = { terminationGracePeriodSeconds: 1, containers: [container], volumes };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, labels: { app: name } }, spec };
}

/** On a busy machine it starts slowly, and stands still now and then: neither is sick. */
function webDeployment(name: string, replicas: number): object {
  const probe = { httpGet: { path: '/healthz', port: 'health' }, periodSeconds: 1, failureThreshold: 2 };
  const container = {
    name: 'main',
    image: WEB,
    env: [{ name: 'FAIRLEAD_HEALTH_LISTEN', value: '0.0.0.0:8080' }],
    ports: [{ name: 'health', containerPort: 8080 }],
    readinessProbe: probe,
    livenessProbe: { ...probe, timeoutSeconds: 10 },
    startupProbe: { ...probe, failureThreshold: 60 },
  };
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { terminationGracePeriodSeconds: 1, containers: [container] } };
  const spec = { replicas, selector: { matchLabels: labels }, template };
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name }, spec };
}

describe('a cluster of the testbed', () => {
  it('gives a pod its environment and its volumes', async () => {
    const env = [
      { name: 'WHO', valueFrom: { configMapKeyRef: { name: 'given', key: 'who' } } },
      { name: 'WHERE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
      { name: 'ADDRESS', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
      { name: 'MEMORY', valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '1Gi' } } },
      { name: 'SENTENCE', value: '$(WHO) is in $(WHERE), not in $(NOWHERE)' },
      { name: 'FILE', value: '/etc/given/who' },
    ];
    const script = 'echo "$SENTENCE|$ADDRESS|$MEMORY"; cat "$FILE" /etc/given/who; echo; touch /scratch/it; sleep 1000';
    const volumes = [
      { name: 'given', configMap: { name: 'given' } },
      { name: 'scratch', emptyDir: {} },
    ];
    const mounts = [
      { name: 'given', mountPath: '/etc/given' },
      { name: 'scratch', mountPath: '/scratch' },
    ];
    await apply(configMap('given', { who: 'ada' }), shellPod('given', script, { env, volumes, mounts }));
    await insist(['wait', '--for=condition=Ready', 'pod/given', PATIENCE]);
    const address = await read('given', '.status.podIP');
    const wanted = `ada is in default, not in $(NOWHERE)|${address}|4\nadaada\n`;
    await vi.waitFor(async () => expect(await insist(['logs', 'given'])).toBe(wanted), { timeout: 30_000 });
    await apply(configMap('given', { who: 'grace' }));
    const current = ['exec', 'given', '--', 'sh', '-c', 'cat "$FILE"'];
    await vi.waitFor(async () => expect(await insist(current)).toBe('grace'), { timeout: 60_000, interval: 500 });
  });

  it('lets a process be its service account', async () => {
    await apply(shellPod('somebody', 'sleep 1000', {}));
    await insist(['wait', '--for=condition=Ready', 'pod/somebody', PATIENCE]);
    const { path } = await findBinary('kubectl', quiet);
    const who = await insist(['exec', 'somebody', '--', path, 'auth', 'whoami', '-o', 'json']);
    expect(JSON.parse(who)).toMatchObject({
      status: {
        userInfo: {
          username: 'system:serviceaccount:default:default',
          extra: { 'authentication.kubernetes.io/pod-name': ['somebody'] },
        },
      },
    });
  });

  it('waits for what a pod needs and is not there yet', async () => {
    const volumes = [{ name: 'late', configMap: { name: 'late' } }];
    const env = [{ name: 'LATE', valueFrom: { configMapKeyRef: { name: 'later', key: 'a' } } }];
    const mounts = [{ name: 'late', mountPath: '/late' }];
    await apply(shellPod('patient', 'sleep 1000', { env, volumes, mounts }));
    await becomes('patient', `${WAITING}.message`, 'volume "late": configmaps "late" not found');
    expect(await read('patient', `${WAITING}.reason`)).toBe('ContainerCreating');
    await apply(configMap('late', { a: '1' }));
    await becomes('patient', `${WAITING}.reason`, 'CreateContainerConfigError');
    await apply(configMap('later', { a: '1' }));
    await insist(['wait', '--for=condition=Ready', 'pod/patient', PATIENCE]);
  });

  it('runs several pods on one port, and ends what its liveness probe says is sick', async () => {
    await apply(webDeployment('web', 2));
    await insist(['rollout', 'status', 'deployment/web', PATIENCE]);
    const processes = await podProcesses(kubectl, 'default', 'app=web');
    const [sick, other] = processes;
    expect(processes).toHaveLength(2);
    const address = await read(sick!.pod, '.status.podIP');
    expect(await read(other!.pod, '.status.podIP')).not.toBe(address);
    const answer = await fetch(`http://${address}:8080/sicken`, { signal: AbortSignal.timeout(30_000) });
    expect(await answer.text()).toMatch(/\/volumes\/kube-api-access-\w+$/u);
    await becomes(sick!.pod, '.status.containerStatuses[0].restartCount', '1');
    await insist(['wait', '--for=condition=Ready', `pod/${sick!.pod}`, PATIENCE]);
    expect(await read(other!.pod, '.status.containerStatuses[0].restartCount')).toBe('0');
  });

  it('carries connections to a Service to pods that are ready', async () => {
    const spec = { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 'health' }] };
    await apply({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' }, spec });
    const address = await insist(['get', 'service', 'web', '-o=jsonpath={.spec.clusterIP}']);
    const ask = async (): Promise<number> =>
      (await fetch(`http://${address}/healthz`, { signal: AbortSignal.timeout(30_000) })).status;
    await vi.waitFor(async () => expect(await ask()).toBe(200), { timeout: 30_000, interval: 100 });
    await insist(['scale', 'deployment/web', '--replicas=0']);
    await vi.waitFor(async () => expect(ask()).rejects.toThrow('fetch failed'), { timeout: 30_000, interval: 100 });
    await insist(['scale', 'deployment/web', '--replicas=2']);
    await insist(['rollout', 'status', 'deployment/web', PATIENCE]);
    const script = 'echo "$WEB_SERVICE_HOST:$WEB_SERVICE_PORT"; sleep 1000';
    await apply(shellPod('guest', script, {}));
    await insist(['wait', '--for=condition=Ready', 'pod/guest', PATIENCE]);
    await vi.waitFor(async () => expect(await insist(['logs', 'guest'])).toBe(`${address}:80\n`), { timeout: 30_000 });
  });

  it('runs init containers one after the other, each until it succeeds, before the others', async () => {
    const init = (name: string, script: string): object => ({
      name,
      image: SHELL,
      args: [script],
      volumeMounts: [{ name: 'shared', mountPath: '/shared' }],
    });
    const inits = [
      // It fails the first time.
      init('first', 'test -e /shared/tried || { touch /shared/tried; exit 3; }; echo first > /shared/order'),
      init('second', 'echo second >> /shared/order'),
    ];
    const mounts = [{ name: 'shared', mountPath: '/shared' }];
    const pod = shellPod('prepared', 'cat /shared/order; sleep 1000', {
      mounts,
      volumes: [{ name: 'shared', emptyDir: {} }],
    }) as { spec: object };
    await apply({ ...pod, spec: { ...pod.spec, initContainers: inits } });
    await insist(['wait', '--for=condition=Ready', 'pod/prepared', PATIENCE]);
    await vi.waitFor(async () => expect(await insist(['logs', 'prepared'])).toBe('first\nsecond\n'), {
      timeout: 30_000,
    });
    expect(await read('prepared', '.status.initContainerStatuses[*].restartCount')).toBe('1 0');
  });

  it('brings a Deployment back to its number of pods, and ends all of them with it', async () => {
    const [first] = await podProcesses(kubectl, 'default', 'app=web');
    await insist(['delete', 'pod', first!.pod, PATIENCE]);
    expect(() => process.kill(first!.pid, 0)).toThrow('ESRCH');
    // Not by `rollout status`: the Deployment's status hears of it late, and says until then that two are there.
    const processes = await vi.waitFor(
      async () => {
        const all = await podProcesses(kubectl, 'default', 'app=web');
        expect(all).toHaveLength(2);
        return all;
      },
      { timeout: 90_000, interval: 200 },
    );
    await insist(['delete', 'deployment', 'web', '--cascade=foreground', PATIENCE]);
    for (const { pid } of processes) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });
});
