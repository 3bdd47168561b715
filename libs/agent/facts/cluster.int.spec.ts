import { randomUUID } from 'node:crypto';
import { silentLogger } from '@fairlead/observability';
import { kubectlOf, startKubernetes, type KubeInfo, type Kubectl, type Running } from '@fairlead/testbed';
import { eventually, scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { KubeApiTarget } from '../kube-api-proxy.js';
import { followCluster } from './cluster-facts.js';
import { listNodes } from './list-nodes.js';
import { observeCluster } from './observe-cluster.js';
import { readOwnPod } from './own-pod.js';

let scratch: ScratchDir;
let kubernetes: Running<KubeInfo>;
let kubectl: Kubectl['insist'];
/** One may list nodes, one may impersonate besides, and one may do nothing. */
let tokens: { readonly lists: string; readonly agent: string; readonly nobody: string };

const NAMESPACE = 'facts';
const ROLES = ['view', 'edit', 'admin', 'cluster-admin'].map((role) => `fairlead:${role}`);
const account = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name, namespace: NAMESPACE },
});
const role = (name: string, rules: readonly object[], accounts: readonly string[]): object[] => [
  { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name }, rules },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: accounts.map((each) => ({ kind: 'ServiceAccount', name: each, namespace: NAMESPACE })),
  },
];
const NODE_INFO = {
  osImage: 'Talos (v1.8.3)',
  kubeletVersion: 'v1.34.4',
  kubeProxyVersion: '',
  containerRuntimeVersion: 'containerd://2.0.0',
  kernelVersion: '6.6.54-talos',
  operatingSystem: 'linux',
  architecture: 'amd64',
  machineID: 'm',
  systemUUID: 'u',
  bootID: 'b',
};
const node = (name: string, ready: string | null, change: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { 'node.kubernetes.io/instance-type': 'm5.large' } },
  spec: { providerID: `aws:///eu-west-1a/${name}`, ...change },
  status: {
    conditions: ready === null ? [] : [{ type: 'Ready', status: ready, reason: 'Test', message: '' }],
    nodeInfo: NODE_INFO,
  },
});

const create = (...items: object[]): Promise<string> =>
  kubectl(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));

function as(token: string): KubeApiTarget {
  const { hostname: host, port } = new URL(kubernetes.info.url);
  return { host, port: Number(port), caPem: kubernetes.info.caPem, token: () => Promise.resolve(token) };
}
const soon = (): AbortSignal => AbortSignal.timeout(20_000);

beforeAll(async () => {
  scratch = await scratchDir();
  kubernetes = await startKubernetes({ dataDir: scratch.file('kubernetes') });
  kubectl = (await kubectlOf(kubernetes.info.adminKubeconfigPath)).insist;
  const impersonate = [
    { apiGroups: [''], resources: ['users'], verbs: ['impersonate'] },
    { apiGroups: [''], resources: ['groups'], resourceNames: ['fairlead:admins', ...ROLES], verbs: ['impersonate'] },
  ];
  await create(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
    ...['lists', 'agent', 'nobody'].map(account),
    ...role('lists', [{ apiGroups: [''], resources: ['nodes'], verbs: ['list'] }], ['lists', 'agent']),
    ...role('acts', impersonate, ['agent']),
  );
  const tokenOf = async (name: string): Promise<string> =>
    (await kubectl(['create', 'token', name, '--namespace', NAMESPACE])).trim();
  tokens = { lists: await tokenOf('lists'), agent: await tokenOf('agent'), nobody: await tokenOf('nobody') };
});
afterAll(async () => {
  await kubernetes?.stop();
  await scratch?.[Symbol.asyncDispose]();
});

it('without nodes there are none, which is another thing than not to know', async () => {
  expect(await listNodes(as(tokens.lists), soon())).toEqual({ total: 0, ready: 0, sample: [] });
  expect(await listNodes(as(tokens.nobody), soon())).toBeNull();
  await expect(listNodes(as('not-a-token'), soon())).rejects.toThrow('answered 401');
});

it('nodes are counted by their Ready condition, page by page, and the first ones are looked at', async () => {
  await create(
    node('a', 'True'),
    node('b', 'True', { unschedulable: true }),
    node('c', 'False'),
    node('d', 'Unknown'),
    node('e', null),
    ...Array.from({ length: 20 }, (_, index) => node(`n${index + 10}`, 'True')),
  );
  const counted = { total: 25, ready: 22 };
  expect(await listNodes(as(tokens.lists), soon())).toMatchObject(counted);
  // The pages are the API server's; here they are small.
  const { sample, ...paged } = (await listNodes(as(tokens.lists), soon(), 7)) ?? { sample: [] };
  expect(paged).toEqual(counted);
  expect(sample).toHaveLength(3);
  expect(sample[0]).toMatchObject({
    providerId: 'aws:///eu-west-1a/a',
    osImage: 'Talos (v1.8.3)',
    labels: { 'node.kubernetes.io/instance-type': 'm5.large' },
  });
  await expect(listNodes(as(tokens.lists), soon(), 1)).rejects.toThrow('more than 20 nodes');
});

it('a look tells what the agent may do there, and a right that is missing hides what it is for, and nothing else', async () => {
  const look = (token: string) =>
    observeCluster({ api: as(token), agentVersion: '1', linkCapabilities: ['link:facts'] }, null, soon());
  const { facts, failure } = await look(tokens.agent);
  expect(failure).toBeNull();
  expect(facts).toEqual({
    agentVersion: '1',
    kubernetesVersion: expect.stringMatching(/^v1\./) as string,
    platform: `${process.platform}/${process.arch}`,
    distribution: 'talos',
    provider: 'aws',
    nodes: { total: 25, ready: 22 },
    capabilities: [
      'link:facts',
      'rbac:impersonate-admins',
      'rbac:impersonate-roles',
      'rbac:impersonate-users',
      'rbac:list-nodes',
    ],
  });
  const { kubernetesVersion } = facts;
  const { facts: less, failure: none } = await look(tokens.nobody);
  expect(none).toBeNull();
  expect(less).toMatchObject({ kubernetesVersion, distribution: '', provider: '', capabilities: ['link:facts'] });
  expect('nodes' in less).toBe(false);
});

it('a pod says which one of which cluster it is, by the token that the kubelet gave it, and nothing else does', async () => {
  const workload = { namespace: NAMESPACE, name: 'agent' };
  const containers = [{ name: 'agent', image: 'agent' }];
  const template = { metadata: { labels: { app: 'agent' } }, spec: { containers } };
  const selector = { matchLabels: { app: 'agent' } };
  const names = [
    { apiGroups: ['apps'], resources: ['deployments'], resourceNames: ['agent'], verbs: ['get'] },
    { apiGroups: [''], resources: ['namespaces'], resourceNames: ['kube-system'], verbs: ['get'] },
  ];
  await create(
    { apiVersion: 'apps/v1', kind: 'Deployment', metadata: workload, spec: { replicas: 3, selector, template } },
    { apiVersion: 'v1', kind: 'Pod', metadata: workload, spec: { serviceAccountName: 'agent', containers } },
    ...role('tells', names, ['agent']),
  );
  const bound = ['--bound-object-kind', 'Pod', '--bound-object-name', 'agent', '--namespace', NAMESPACE];
  const token = (await kubectl(['create', 'token', 'agent', ...bound])).trim();
  const uidOf = (...object: string[]): Promise<string> => kubectl(['get', ...object, '-o', 'jsonpath={.metadata.uid}']);
  const pod = {
    clusterUid: await uidOf('namespace', 'kube-system'),
    name: 'agent',
    uid: await uidOf('pod', 'agent', '-n', NAMESPACE),
    node: '',
    replicas: 3,
  };
  expect(await readOwnPod(as(token), workload, soon())).toEqual(pod);
  // A token that was made by hand, and an agent that may not look.
  expect(await readOwnPod(as(tokens.agent), workload, soon())).toBeNull();
  expect(await readOwnPod(as(token), { ...workload, name: 'another' }, soon())).toBeNull();
  const options = { api: as(token), agentVersion: '1', linkCapabilities: [], workload };
  const { facts } = await observeCluster(options, null, soon());
  expect(facts.pod).toEqual(pod);
  const away = await observeCluster({ ...options, api: { ...options.api, port: 1 } }, facts, soon());
  expect(away.facts.pod).toEqual(pod);
});

it('what cannot be learned for the moment stays as it was', async () => {
  const options = { api: as(tokens.agent), agentVersion: '1', linkCapabilities: ['link:facts'] };
  const { facts } = await observeCluster(options, null, soon());
  const away = await observeCluster({ ...options, api: { ...options.api, port: 1 } }, facts, soon());
  expect(away).toEqual({ facts, failure: expect.any(String) as string });
  const atFirst = await observeCluster({ ...options, api: { ...options.api, port: 1 } }, null, soon());
  expect(atFirst.facts).toMatchObject({ kubernetesVersion: 'unknown', capabilities: ['link:facts'] });
});

it('a node that comes is told by the next look', async () => {
  const stop = new AbortController();
  const feed = followCluster(
    { api: as(tokens.agent), agentVersion: '1', linkCapabilities: [], logger: silentLogger, refreshMs: 200 },
    stop.signal,
  );
  const told: unknown[] = [];
  feed.onChange(({ nodes }) => told.push(nodes));
  // The first look has a few seconds: on a busy machine it may be the second one that sees them.
  await eventually(async () => expect((await feed.current()).nodes).toEqual({ total: 25, ready: 22 }), {
    timeoutMs: 60_000,
  });
  await create(node(`late-${randomUUID()}`, 'True'));
  await eventually(() => expect(told.at(-1)).toEqual({ total: 26, ready: 23 }), { timeoutMs: 60_000 });
  stop.abort();
});
