import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import type { ManifestValues } from '@fairlead/contracts';
import {
  kubectlOf,
  startKubernetes,
  type KubeInfo,
  type Kubectl,
  type KubectlText,
  type Running,
} from '@fairlead/testbed';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { objectIn, objectsOf } from '../testing/manifest-objects.js';
import { renderImportManifest, renderInstallerManifest, type ImportManifestInput } from './import-manifest.js';

const INPUT: ImportManifestInput = {
  cluster: { name: 'demo', id: '0d0d7f0e-6d0e-4b5c-9a0c-3d9f6d1f0001' },
  endpoints: ['127.0.0.1:7444'],
  pins: ['ab'.repeat(32)],
  trustDomain: 'fairlead.local',
  links: 2,
  targets: [],
  egress: ['2222=git.example.com:22'],
  installer: null,
  image: 'registry.example.test/fairlead/agent:0.1.0',
  bootstrapToken: 'fl1.aa.id.secret-part',
  values: {},
};
const manifest = renderImportManifest(INPUT);
const installerManifest = renderInstallerManifest({
  name: 'demo',
  clusterId: '0d0d7f0e-6d0e-4b5c-9a0c-3d9f6d1f0001',
  pins: ['ab'.repeat(32)],
  trustDomain: 'fairlead.local',
  image: 'registry.example.test/fairlead/installer:0.1.0',
  values: {},
});
const NAMESPACE = 'fairlead-system';
const OWN_SECRET = 'secrets/fairlead-agent-identity';

let scratch: ScratchDir;
let kubernetes: Running<KubeInfo>;
let asAdmin: Kubectl['text'];
let asAgent: Kubectl['text'];
let applied: KubectlText;
let agentToken: string;

beforeAll(async () => {
  scratch = await scratchDir();
  kubernetes = await startKubernetes({ dataDir: scratch.file('kubernetes') });
  asAdmin = (await kubectlOf(kubernetes.info.adminKubeconfigPath)).text;
  applied = await asAdmin(['apply', '--validate=strict', '-f', '-'], manifest);
  const { stdout: token } = await asAdmin(['create', 'token', 'fairlead-agent', '--namespace', NAMESPACE]);
  agentToken = token.trim();
  const kubeconfig = JSON.parse(readFileSync(kubernetes.info.adminKubeconfigPath, 'utf8')) as { users: unknown[] };
  kubeconfig.users = [{ name: 'testbed-admin', user: { token: agentToken } }];
  writeFileSync(scratch.file('agent.kubeconfig'), JSON.stringify(kubeconfig), { mode: 0o600 });
  asAgent = (await kubectlOf(scratch.file('agent.kubeconfig'))).text;
});
afterAll(async () => {
  await kubernetes.stop();
  await scratch[Symbol.asyncDispose]();
});

describe('a real API server', () => {
  it('accepts the manifest with strict field validation and no warning', () => {
    expect(applied).toMatchObject({ code: 0, stderr: '' });
  });

  it('accepts the manifest server-side with strict field validation', async () => {
    const again = await asAdmin(
      ['apply', '--server-side', '--force-conflicts', '--validate=strict', '-f', '-'],
      manifest,
    );
    expect(again).toMatchObject({ code: 0, stderr: '' });
  });

  it.each([['apply'], ['apply --server-side --force-conflicts']])(
    '%s again keeps what the agent stored',
    async (how) => {
      const stored = JSON.stringify({ data: { 'tls.key': 'a2V5' } });
      const patch = [
        'patch',
        'secret',
        'fairlead-agent-identity',
        '--namespace',
        NAMESPACE,
        '--type=merge',
        '-p',
        stored,
      ];
      expect(await asAgent(patch)).toMatchObject({ code: 0 });
      expect(await asAdmin([...how.split(' '), '-f', '-'], manifest)).toMatchObject({ code: 0 });
      const read = await asAgent(['get', OWN_SECRET, '--namespace', NAMESPACE, '-o', 'jsonpath={.data}']);
      expect(JSON.parse(read.stdout)).toEqual({ 'tls.key': 'a2V5' });
    },
  );

  it("admits the agent's pod in the restricted namespace, and no pod that asks for more", async () => {
    const pod = (spec: object): string =>
      JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'agent', namespace: NAMESPACE }, spec });
    const create = ['create', '--dry-run=server', '-f', '-'];
    const { spec } = objectIn(manifest, 'Deployment').spec.template;
    expect(await asAdmin(create, pod(spec))).toMatchObject({ code: 0, stderr: '' });
    const refused = await asAdmin(create, pod({ ...spec, hostNetwork: true }));
    expect(refused.stderr).toContain('violates PodSecurity "restricted');
  });
});

/** Everything that can be set at once. */
const VALUES: ManifestValues = {
  namespace: 'edge-agent',
  imagePullSecrets: [{ name: 'registry' }],
  nodeSelector: { 'kubernetes.io/os': 'linux' },
  tolerations: [
    { key: 'dedicated', operator: 'Equal', value: 'infra', effect: 'NoSchedule' },
    { operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 60 },
  ],
  resources: { requests: { cpu: '0.1', memory: '256Mi' }, limits: { cpu: '2', memory: '1Gi' } },
  priorityClassName: 'system-cluster-critical',
  // What is no text in YAML 1.1, which kubectl reads.
  podLabels: { 'sidecar.istio.io/inject': 'false', 'example.com/edge': 'on' },
  podAnnotations: { 'example.com/note': 'any text: {"a": 1}', 'example.com/number': '1e3_0' },
  proxy: { httpsProxy: 'http://[fd00::1]:3128', noProxy: ['10.0.0.0/8'], credentialsSecret: 'proxy' },
  caBundle: '-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n',
};

describe('with every value that there is', () => {
  const all = { ...INPUT, installer: { image: 'registry.example.test/fairlead/installer:0.1.0' } };
  const dryRun = ['--dry-run=server', '--validate=strict', '-f', '-'];

  it.each([
    ['its own network', VALUES],
    ['the network of its node', { ...VALUES, hostNetwork: true, healthPort: 18_080 }],
  ])('the API server accepts the manifest and its pods, in %s', async (_where, values) => {
    const text = renderImportManifest({ ...all, egress: [], values });
    // A namespace first: in a dry run nothing is there for what is in it.
    const [namespace] = objectsOf(text);
    expect(await asAdmin(['apply', '-f', '-'], JSON.stringify(namespace))).toMatchObject({ code: 0 });
    expect(await asAdmin(['apply', ...dryRun], text)).toMatchObject({ code: 0, stderr: '' });
    for (const name of ['fairlead-agent', 'fairlead-installer']) {
      const { metadata, spec } = objectIn(text, 'Deployment', name).spec.template;
      const { serviceAccountName: _unknownYet, ...pod } = spec as typeof spec & { serviceAccountName: string };
      const whole = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { ...metadata, name, namespace: 'edge-agent' },
        spec: pod,
      };
      const created = await asAdmin(['create', ...dryRun], JSON.stringify(whole));
      expect(created).toMatchObject({ code: 0, stderr: '' });
    }
  });
});

describe("the agent's service account", () => {
  it.each([
    ['impersonate users', true],
    ['impersonate groups/fairlead:admins', true],
    ['impersonate groups/fairlead:view', true],
    ['impersonate groups/fairlead:edit', true],
    ['impersonate groups/fairlead:admin', true],
    ['impersonate groups/fairlead:cluster-admin', true],
    ['impersonate groups/fairlead:another', false],
    ['impersonate groups/system:authenticated', true],
    ['impersonate groups/system:masters', false],
    ['impersonate groups', false],
    ['impersonate uids.authentication.k8s.io', false],
    ['impersonate userextras.authentication.k8s.io/scopes', false],
    ['impersonate serviceaccounts', false],
    [`get ${OWN_SECRET} -n ${NAMESPACE}`, true],
    [`update ${OWN_SECRET} -n ${NAMESPACE}`, false],
    [`patch ${OWN_SECRET} -n ${NAMESPACE}`, true],
    [`delete ${OWN_SECRET} -n ${NAMESPACE}`, false],
    [`get ${OWN_SECRET} -n default`, false],
    [`get secrets/fairlead-agent-bootstrap -n ${NAMESPACE}`, false],
    [`update secrets/fairlead-agent-bootstrap -n ${NAMESPACE}`, false],
    [`list secrets -n ${NAMESPACE}`, false],
    [`create secrets -n ${NAMESPACE}`, false],
    [`create pods -n ${NAMESPACE}`, false],
    [`create serviceaccounts/token -n ${NAMESPACE}`, false],
    ['list nodes', true],
    ['get nodes', false],
    ['watch nodes', false],
    ['patch nodes', false],
    ['get nodes --subresource=proxy', false],
    ['list pods', false],
    ['list namespaces', false],
    ['get namespaces/kube-system', true],
    ['get namespaces/default', false],
    ['patch namespaces/kube-system', false],
    [`get deployments.apps/fairlead-agent -n ${NAMESPACE}`, true],
    [`patch deployments.apps/fairlead-agent -n ${NAMESPACE}`, false],
    [`get deployments.apps/fairlead-installer -n ${NAMESPACE}`, false],
    [`list deployments.apps -n ${NAMESPACE}`, false],
    [`patch leases.coordination.k8s.io/fairlead-agent -n ${NAMESPACE}`, true],
    [`patch leases.coordination.k8s.io/another -n ${NAMESPACE}`, false],
    [`create leases.coordination.k8s.io -n ${NAMESPACE}`, false],
    ['bind clusterroles.rbac.authorization.k8s.io', false],
  ])('%s: %s', async (question, allowed) => {
    const { stdout } = await asAgent(['auth', 'can-i', '--quiet=false', ...question.split(' ')]);
    expect(stdout.trim().split('\n').at(-1)).toBe(allowed ? 'yes' : 'no');
  });

  it('has no other rights than these and what every authenticated user has', async () => {
    const review = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectRulesReview',
      spec: { namespace: NAMESPACE },
    };
    const path = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';
    const { stdout } = await asAgent(['create', '--raw', path, '-f', '-'], JSON.stringify(review));
    const { status } = JSON.parse(stdout) as { status: { resourceRules: Rule[]; incomplete: boolean } };
    expect(status.incomplete).toBe(false);
    const own = status.resourceRules.filter((rule) => !rule.apiGroups.some((group) => group.endsWith('.k8s.io')));
    expect(own.map(({ verbs, resources, resourceNames }) => ({ verbs, resources, resourceNames }))).toEqual(
      expect.arrayContaining([
        { verbs: ['impersonate'], resources: ['users'], resourceNames: undefined },
        {
          verbs: ['impersonate'],
          resources: ['groups'],
          resourceNames: [
            'fairlead:admins',
            ...['view', 'edit', 'admin', 'cluster-admin'].map((role) => `fairlead:${role}`),
            'system:authenticated',
          ],
        },
        { verbs: ['list'], resources: ['nodes'], resourceNames: undefined },
        { verbs: ['get'], resources: ['namespaces'], resourceNames: ['kube-system'] },
        { verbs: ['get'], resources: ['deployments'], resourceNames: ['fairlead-agent'] },
        { verbs: ['get', 'patch'], resources: ['secrets'], resourceNames: ['fairlead-agent-identity'] },
      ]),
    );
    expect(own).toHaveLength(6);
  });

  it('acts for an administrator, and cannot make itself a cluster admin by another name', async () => {
    const listing = ['get', 'namespaces', '--as=alice'];
    expect(await asAgent([...listing, '--as-group=fairlead:admins'])).toMatchObject({ code: 0 });
    const refused = await asAgent([...listing, '--as-group=system:masters']);
    expect(refused.stderr).toContain('cannot impersonate resource "groups"');
  });

  it("can have the installer's token all the same, by the user name of Kubernetes' own controller: what docs/security.md says", async () => {
    expect(await asAdmin(['apply', '-f', '-'], installerManifest)).toMatchObject({ code: 0 });
    const direct = await asAgent(['create', 'token', 'fairlead-installer', '--namespace', NAMESPACE]);
    expect(direct.stderr).toContain('is forbidden');
    const asController = ['--namespace', NAMESPACE, '--as=system:kube-controller-manager'];
    const { code, stdout: token } = await asAgent(['create', 'token', 'fairlead-installer', ...asController]);
    expect(code).toBe(0);
    const everything = await asAgent(['auth', 'can-i', '*', '*', `--token=${token.trim()}`]);
    expect(everything.stdout.trim()).toBe('yes');
  });
});

interface Rule {
  readonly apiGroups: readonly string[];
  readonly verbs: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
}

describe('where names of users are extras', () => {
  const asUser = ['--as', 'fairlead:user', '--as-group', 'system:authenticated'];

  beforeAll(async () => {
    await asAdmin(['apply', '-f', '-'], renderImportManifest({ ...INPUT, values: { userNames: 'extra' } }));
  });

  it('a stolen token of the agent is nobody but the one user, in the groups of grants', async () => {
    for (const user of ['system:kube-controller-manager', 'alice', 'fairlead:users']) {
      const refused = await asAgent(['get', 'secrets', '--as', user]);
      expect(refused).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('cannot impersonate resource "users"') as string,
      });
    }
    const masters = await asAgent(['get', 'secrets', '--as', 'fairlead:user', '--as-group', 'system:masters']);
    expect(masters).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('cannot impersonate resource "groups"') as string,
    });
    expect(await asAgent(['get', 'configmaps', ...asUser])).toMatchObject({ code: 1 });
    expect(await asAgent(['get', 'configmaps', ...asUser, '--as-group', 'fairlead:admins'])).toMatchObject({ code: 0 });
  });

  it('the cluster is told the name, and no other extra', async () => {
    const told = await reviewOfSelf('Impersonate-Extra-fairlead.dev%2Fuser', 'corp:alice');
    expect(told).toMatchObject({
      status: { userInfo: { username: 'fairlead:user', extra: { 'fairlead.dev/user': ['corp:alice'] } } },
    });
    expect(await reviewOfSelf('Impersonate-Extra-Scopes', 'all')).toMatchObject({
      code: 403,
      message: expect.stringContaining('userextras') as string,
    });
  });

  /** What the kube-apiserver takes the agent for, with this header. */
  async function reviewOfSelf(header: string, value: string): Promise<unknown> {
    const { url, caPem } = kubernetes.info;
    const asking = request(new URL('/apis/authentication.k8s.io/v1/selfsubjectreviews', url), {
      method: 'POST',
      ca: caPem,
      headers: {
        authorization: `Bearer ${agentToken}`,
        'content-type': 'application/json',
        'Impersonate-User': 'fairlead:user',
        'Impersonate-Group': 'system:authenticated',
        [header]: value,
      },
    });
    asking.end('{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}');
    const [answer] = (await once(asking, 'response')) as [IncomingMessage];
    return JSON.parse(await text(answer));
  }
});
