import { readFileSync, writeFileSync } from 'node:fs';
import { HANDOVER, Handover } from '@fairlead/desired-state/carried';
import { createConfigMaps, type ConfigMaps } from '@fairlead/kube/in-cluster';
import { renderImportManifest, renderInstallerManifest } from '@fairlead/registration';
import { kubectlOf, startKubernetes, type KubeInfo, type Kubectl, type Running } from '@fairlead/testbed';
import { eventually, scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';
import type { RunningAgent } from './test-agent.js';
import { reportOf } from './test-gitops.js';

const NAMESPACE = 'fairlead-system';
const INSTALLER_IMAGE = 'registry.example.test/fairlead/installer:0.1.0';
const OBSERVE_MS = 200;

let scratch: ScratchDir;
let kubernetes: Running<KubeInfo>;
let asAdmin: Kubectl['text'];
let asAgent: Kubectl['text'];
let installation: TestInstallation;
let replicas: Replica[];
let agent: RunningAgent;
let maps: ConfigMaps;

async function inNamespace(kubeconfig: string): Promise<Kubectl['text']> {
  const kubectl = await kubectlOf(kubeconfig, { timeoutMs: 90_000 });
  return (args, stdin) => kubectl.text(['--namespace', NAMESPACE, ...args], stdin);
}

const start = (): Promise<RunningAgent> =>
  installation.startAgent({ replicas, links: 2, apiPort: 1, handover: { maps, observeMs: OBSERVE_MS } });

function trust() {
  const { cluster, authority } = installation;
  return { clusterId: cluster.clusterId, pins: ['ab'.repeat(32)], trustDomain: authority.trustDomain };
}

function importManifest(): string {
  const { clusterId, ...rest } = trust();
  return renderImportManifest({
    ...rest,
    cluster: { name: installation.cluster.name, id: clusterId },
    endpoints: ['127.0.0.1:7444'],
    links: 2,
    targets: [],
    egress: [],
    image: 'registry.example.test/fairlead/agent:0.1.0',
    bootstrapToken: null,
    installer: null,
    values: {},
  });
}

const installerManifest = (): string =>
  renderInstallerManifest({ ...trust(), name: installation.cluster.name, image: INSTALLER_IMAGE, values: {} });

/** As the agent's pod has it: a token of its service account, and the API server's certificate. */
async function asServiceAccount(): Promise<ConfigMaps> {
  const { stdout: token } = await asAdmin(['create', 'token', 'fairlead-agent']);
  const admin = JSON.parse(readFileSync(kubernetes.info.adminKubeconfigPath, 'utf8')) as {
    users: unknown[];
    clusters: { cluster: Record<string, string> }[];
  };
  admin.users = [{ name: 'testbed-admin', user: { token: token.trim() } }];
  writeFileSync(scratch.file('agent.kubeconfig'), JSON.stringify(admin), { mode: 0o600 });
  asAgent = await inNamespace(scratch.file('agent.kubeconfig'));
  const { cluster = {} } = admin.clusters[0] ?? {};
  const authority = cluster['certificate-authority'];
  const ca = authority
    ? readFileSync(authority, 'utf8')
    : Buffer.from(cluster['certificate-authority-data'] ?? '', 'base64').toString('utf8');
  writeFileSync(scratch.file('ca.crt'), ca);
  writeFileSync(scratch.file('token'), token);
  const { hostname, port } = new URL(cluster['server'] ?? '');
  return createConfigMaps({
    host: hostname,
    port: Number(port),
    serviceAccountDir: scratch.path,
    namespace: NAMESPACE,
  });
}

beforeAll(async () => {
  scratch = await scratchDir();
  [kubernetes, installation] = await Promise.all([
    startKubernetes({ dataDir: scratch.file('kubernetes') }),
    startInstallation(),
  ]);
  asAdmin = await inNamespace(kubernetes.info.adminKubeconfigPath);
  replicas = [await installation.startReplica('gateway-a'), await installation.startReplica('gateway-b')];
  const applied = [];
  for (const manifest of [importManifest(), installerManifest()])
    applied.push(await asAdmin(['apply', '--validate=strict', '-f', '-'], manifest));
  if (applied.some(({ code, stderr }) => code !== 0 || stderr !== '')) throw new Error(JSON.stringify(applied));
  maps = await asServiceAccount();
  agent = await start();
});

afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
  await kubernetes?.stop();
  await scratch?.[Symbol.asyncDispose]();
});

async function handedOver(): Promise<Handover> {
  const { stdout } = await asAdmin(['get', 'configmap', HANDOVER.desiredState, '-o', 'json']);
  const { data = {} } = JSON.parse(stdout) as { data?: Record<string, string> };
  return Handover.parse(JSON.parse(data[HANDOVER.keys.handover] ?? ''));
}

/** What the installer does, with an administrator's rights. */
async function reports(report: unknown): Promise<void> {
  const data = { [HANDOVER.keys.report]: typeof report === 'string' ? report : JSON.stringify(report) };
  const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: HANDOVER.report }, data };
  const applied = await asAdmin(
    ['apply', '--server-side', '--field-manager=installer', '-f', '-'],
    JSON.stringify(map),
  );
  expect(applied).toMatchObject({ code: 0 });
}

const told = (): number[] => installation.gitops.reports.map(({ report }) => report.observedRevision);

describe('a desired state and its report, through a real API server with the agent’s own rights', () => {
  it('goes from the bucket to the ConfigMap, as it was signed, with the roots', async () => {
    const { document, signature, signerChain } = await installation.gitops.want(installation.cluster, 1);
    await eventually(async () =>
      expect(await handedOver()).toMatchObject({ desiredState: { document, signature, signerChain } }),
    );
    const { roots } = await handedOver();
    expect(roots).toEqual(installation.authority.roots);
  });

  it('a change goes the same way', async () => {
    const { document } = await installation.gitops.want(installation.cluster, 2);
    await eventually(async () => expect((await handedOver()).desiredState?.document).toBe(document));
  });

  it('a report goes up once it is written, and once only', async () => {
    await reports(reportOf(installation.cluster.clusterId, { observedRevision: 2 }));
    await eventually(() => expect(told()).toEqual([2]));
    expect(installation.gitops.reports[0]).toMatchObject({
      tenantId: 'default',
      clusterId: installation.cluster.clusterId,
    });
  });

  it.each<[string, unknown]>([
    ['of another cluster', reportOf('00000000-0000-4000-8000-000000000000', { observedRevision: 99 })],
    ['that is not JSON', 'not JSON'],
    ['that is too large', 'x'.repeat(40_000)],
  ])('one %s does not arrive, and the next one does', async (_, hostile) => {
    const before = told().length;
    await reports(hostile);
    // Longer than the agent waits between two, so that the hostile one had its turn.
    const next = before + 100;
    await reports(reportOf(installation.cluster.clusterId, { observedRevision: next }));
    await eventually(() => expect(told().at(-1)).toBe(next));
    expect(told()).not.toContain(99);
    expect(agent.agent.readiness()[0]).toMatchObject({ ok: true });
  });

  it('waits at the gateway while gitops is away', async () => {
    installation.gitops.away = true;
    await reports(reportOf(installation.cluster.clusterId, { observedRevision: 500 }));
    await eventually(() => expect(installation.gitops.missed).toBeGreaterThan(0));
    expect(told()).not.toContain(500);
    installation.gitops.away = false;
    await eventually(() => expect(told().at(-1)).toBe(500));
  });

  it('a bundle that the report asks for is brought, byte for byte', async () => {
    const { digest, gzip } = installation.gitops.addBundle(700 * 1_024);
    await reports(reportOf(installation.cluster.clusterId, { observedRevision: 501, wantedBundle: digest }));
    await eventually(
      async () => {
        const { stdout } = await asAdmin(['get', 'configmap', HANDOVER.bundle, '-o', 'json']);
        const { binaryData = {} } = JSON.parse(stdout) as { binaryData?: Record<string, string> };
        expect(Buffer.from(binaryData[HANDOVER.keys.bundle] ?? '', 'base64').equals(gzip)).toBe(true);
      },
      { timeoutMs: 30_000, intervalMs: 200 },
    );
  });

  it('an agent that starts anew says what it has handed over, and writes nothing', async () => {
    const version = async (): Promise<string> => {
      const { stdout } = await asAdmin(['get', 'configmap', HANDOVER.desiredState, '-o', 'json']);
      return (JSON.parse(stdout) as { metadata: { resourceVersion: string } }).metadata.resourceVersion;
    };
    const before = await version();
    await agent.stop();
    const reported = told().length;
    agent = await start();
    // It reads the report only once it has looked at what is handed over.
    await eventually(() => expect(told().length).toBeGreaterThan(reported));
    expect(await version()).toBe(before);
  });

  it('applying the manifest again keeps what the agent wrote', async () => {
    const before = await handedOver();
    for (const how of [['apply'], ['apply', '--server-side', '--force-conflicts']])
      expect(await asAdmin([...how, '-f', '-'], installerManifest())).toMatchObject({ code: 0 });
    expect(await handedOver()).toEqual(before);
  });
});

describe('the agent’s service account, in a cluster with an installer', () => {
  it.each([
    ...[HANDOVER.desiredState, HANDOVER.bundle].flatMap((name): [string, boolean][] => [
      [`get configmaps/${name}`, true],
      [`update configmaps/${name}`, false],
      [`patch configmaps/${name}`, true],
      [`delete configmaps/${name}`, false],
      [`watch configmaps/${name}`, false],
    ]),
    [`get configmaps/${HANDOVER.report}`, true],
    [`watch configmaps/${HANDOVER.report}`, true],
    [`update configmaps/${HANDOVER.report}`, false],
    [`patch configmaps/${HANDOVER.report}`, false],
    ['get configmaps/kube-root-ca.crt', false],
    ['create configmaps', false],
    ['list configmaps', false],
    [`get configmaps/${HANDOVER.desiredState} -n default`, false],
    ['get secrets/fairlead-installer-state', false],
    ['patch deployments.apps/fairlead-installer', false],
    ['create serviceaccounts/token', false],
    [`impersonate serviceaccounts/fairlead-installer`, false],
  ] as [string, boolean][])('%s: %s', async (question, allowed) => {
    const { stdout } = await asAgent(['auth', 'can-i', '--quiet=false', ...question.split(' ')]);
    expect(stdout.trim().split('\n').at(-1)).toBe(allowed ? 'yes' : 'no');
  });

  it('cannot become the installer by its name as a user', async () => {
    const name = `system:serviceaccount:${NAMESPACE}:fairlead-installer`;
    const refused = await asAgent(['get', 'secrets', `--as=${name}`]);
    expect(refused.stderr).toContain('cannot impersonate resource "serviceaccounts"');
  });

  it('reads one that is there and not its own, or is not there at all, as nobody’s', async () => {
    await expect(maps.read('kube-root-ca.crt')).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(maps.write('other', { data: { x: 'y' } })).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });
});

describe('the installer', () => {
  it('is a pod that the restricted namespace admits, with an administrator’s rights', async () => {
    const { stdout } = await asAdmin(['get', 'deployment', 'fairlead-installer', '-o', 'json']);
    const { spec } = (JSON.parse(stdout) as { spec: { template: { spec: object } } }).spec.template;
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'installer', namespace: NAMESPACE }, spec };
    expect(await asAdmin(['create', '--dry-run=server', '-f', '-'], JSON.stringify(pod))).toMatchObject({
      code: 0,
      stderr: '',
    });
    const as = `--as=system:serviceaccount:${NAMESPACE}:fairlead-installer`;
    expect((await asAdmin(['auth', 'can-i', '*', '*', '--all-namespaces', as])).stdout.trim()).toBe('yes');
  });
});
