import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readEvents } from '../../support/events.js';
import { fairlead } from '../../support/fairlead.js';
import { invite, readAdoption, startLooseAgent, type LooseAgent } from '../../support/loose-agent.js';
import { secretScan } from '../../support/secret-scan/index.js';
import { sharedStack } from '../../support/shared-stack.js';
import type { TestStack } from '../../support/test-stack.js';

interface Facts {
  readonly kubernetesVersion: string;
  readonly distribution: string;
  readonly provider: string;
  readonly nodes: { readonly total: number; readonly ready: number } | null;
  readonly capabilities: readonly string[];
}

interface Waiting {
  readonly fingerprint: string;
  readonly facts: Facts;
}

let running: TestStack;
/** Of the agent's service account in the demo cluster, with the rights of the import manifest. */
let serviceAccountToken: string;
const QUICK = { FAIRLEAD_FACTS_REFRESH_SECONDS: '1' };
const RIGHTS = ['rbac:impersonate-admins', 'rbac:impersonate-roles', 'rbac:impersonate-users', 'rbac:list-nodes'];

beforeAll(async () => {
  running = sharedStack();
  const account = ['fairlead-agent', '--namespace', 'fairlead-system'];
  serviceAccountToken = (await asAdmin('create', 'token', ...account)).trim();
  secretScan.issued.add('the token of a service account', serviceAccountToken);
});

/** kubectl as the administrator of the demo cluster. */
async function asAdmin(...args: string[]): Promise<string> {
  return apply(args);
}

async function apply(args: readonly string[], stdin?: string): Promise<string> {
  const { demo } = running.stack;
  if ('unavailable' in demo) throw new Error(demo.unavailable);
  const all = ['--kubeconfig', demo.adminKubeconfigPath, ...args];
  const options = { timeoutMs: 60_000, ...(stdin === undefined ? {} : { stdin }) };
  const { code, stdout, stderr } = await running.stack.kubectl(all, options);
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  return stdout;
}

function node(name: string, ready: 'True' | 'False'): object {
  const strings = ['machineID', 'systemUUID', 'bootID', 'kernelVersion', 'kubeletVersion', 'kubeProxyVersion'];
  const nodeInfo = {
    ...Object.fromEntries(strings.map((each) => [each, 'test'])),
    osImage: 'Ubuntu 24.04 LTS',
    containerRuntimeVersion: 'containerd://2.0.0',
    operatingSystem: 'linux',
    architecture: 'amd64',
  };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { 'eks.amazonaws.com/nodegroup': 'general' } },
    spec: { providerID: `aws:///eu-west-1a/${name}` },
    status: { conditions: [{ type: 'Ready', status: ready, reason: 'Test', message: '' }], nodeInfo },
  };
}

const createNodes = (...items: object[]): Promise<string> =>
  apply(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));

async function factsOf(cluster: string): Promise<Facts | null> {
  return (
    JSON.parse(await fairlead(running.stack, 'cluster', 'show', cluster, '-o', 'json')) as { facts: Facts | null }
  ).facts;
}

function until(cluster: string, expected: Partial<Facts>): Promise<void> {
  return eventually(async () => expect(await factsOf(cluster)).toMatchObject(expected), { timeoutMs: 90_000 });
}

async function doctorOn(cluster: string): Promise<Record<string, unknown>> {
  const { stdout } = await running.stack.cli(['doctor', cluster, '-o', 'json']);
  const { findings } = JSON.parse(stdout) as { findings: Record<string, unknown>[] };
  return findings.find(({ check }) => check === 'facts') ?? {};
}

async function changesOf(cluster: string): Promise<(Facts['nodes'] | undefined)[]> {
  const events = await readEvents(running.stack);
  return events
    .filter(({ type, data }) => type === 'dev.fairlead.cluster.facts-changed.v1' && data['name'] === cluster)
    .map(({ data }) => (data['facts'] as Facts).nodes);
}

it('a cluster without nodes has none, which is another thing than not to know', async () => {
  expect(await factsOf('demo')).toMatchObject({ nodes: { total: 0, ready: 0 }, distribution: '', provider: '' });
});

describe('what an agent says of its cluster', () => {
  let agent: LooseAgent;

  beforeAll(async () => {
    await createNodes(node('one', 'True'), node('two', 'False'));
    agent = await startLooseAgent(running.stack, {
      invitation: await invite(running.stack, 'told'),
      env: QUICK,
      serviceAccountToken,
    });
    await agent.event('link.established');
  });
  afterAll(() => agent?.[Symbol.asyncDispose]());

  it('is shown once it has enrolled, for programs and for people', async () => {
    expect(await factsOf('told')).toEqual({
      agentVersion: '0.1.0',
      kubernetesVersion: expect.stringMatching(/^v1\./) as string,
      platform: `${process.platform}/${process.arch}`,
      distribution: 'eks',
      provider: 'aws',
      nodes: { total: 2, ready: 1 },
      capabilities: ['link:facts', 'link:kube-api', 'link:statements', 'link:trust', ...RIGHTS],
    });
    expect(await fairlead(running.stack, 'cluster', 'show', 'told')).toMatch(
      /distribution +eks on aws\nnodes +1\/2 ready\n/,
    );
    // That it is linked is known a moment after it is.
    await eventually(async () =>
      expect(await fairlead(running.stack, 'cluster', 'list')).toMatch(/told +online +v1\S+ eks on aws +1\/2 ready /),
    );
    expect(await doctorOn('told')).toMatchObject({ warning: true, detail: expect.stringContaining('1 of 2 nodes') });
  });

  it('follows the cluster, and each change is one event, whichever replica hears of it', async () => {
    expect(await changesOf('told')).toEqual([]);
    await createNodes(node('three', 'True'));
    await until('told', { nodes: { total: 3, ready: 2 } });
    await agent.event('agent.facts.changed');
    await eventually(async () => expect(await changesOf('told')).toEqual([{ total: 3, ready: 2 }]));
  });

  it('is less without the right to list nodes, which doctor says, and no request fails for it', async () => {
    const rules = [
      { op: 'test', path: '/rules/2/resources/0', value: 'nodes' },
      { op: 'remove', path: '/rules/2' },
    ];
    await asAdmin('patch', 'clusterrole', 'fairlead-agent', '--type=json', '-p', JSON.stringify(rules));
    const capabilities = RIGHTS.slice(0, 3);
    await until('told', { nodes: null, distribution: '', provider: '' });
    expect((await factsOf('told'))?.capabilities.filter((each) => each.startsWith('rbac:'))).toEqual(capabilities);
    expect(await doctorOn('told')).toMatchObject({
      ok: true,
      warning: true,
      detail: expect.stringContaining('may not list them') as string,
      remedy: expect.stringContaining('fairlead cluster import told') as string,
    });
    const namespaces = await running.stack.kubectl(['get', 'namespaces'], { context: 'demo@gateway-a' });
    expect(namespaces).toMatchObject({ code: 0 });
    const rule = [{ op: 'add', path: '/rules/2', value: { apiGroups: [''], resources: ['nodes'], verbs: ['list'] } }];
    await asAdmin('patch', 'clusterrole', 'fairlead-agent', '--type=json', '-p', JSON.stringify(rule));
    await until('told', { nodes: { total: 3, ready: 2 }, provider: 'aws' });
  });
});

it('an agent that waits shows what it is the agent of', async () => {
  await fairlead(running.stack, 'policy', 'set', 'queue');
  await using agent = await startLooseAgent(running.stack, {
    invitation: readAdoption(await fairlead(running.stack, 'request', 'manifest')),
    env: { FAIRLEAD_ADOPTION: 'true', FAIRLEAD_BOOTSTRAP_TOKEN_FILE: '/nonexistent/token' },
    serviceAccountToken,
  });
  const { reason } = await agent.event('agent.enrolment.waiting');
  const { requests } = JSON.parse(await fairlead(running.stack, 'request', 'list', '-o', 'json')) as {
    requests: Waiting[];
  };
  const own = requests.filter(({ fingerprint }) => String(reason).endsWith(fingerprint));
  expect(own).toMatchObject([{ facts: { distribution: 'eks', provider: 'aws', nodes: { total: 3, ready: 2 } } }]);
  expect(await fairlead(running.stack, 'request', 'list')).toMatch(/ eks on aws +2\/3 ready /);
});

it('an agent whose API server does not know it links all the same, and says what it can', async () => {
  await fairlead(running.stack, 'policy', 'set', 'inherit');
  await using agent = await startLooseAgent(running.stack, { invitation: await invite(running.stack, 'unknown') });
  await agent.event('agent.facts.incomplete');
  await agent.event('link.established');
  expect(await factsOf('unknown')).toMatchObject({
    nodes: null,
    distribution: '',
    capabilities: ['link:facts', 'link:kube-api', 'link:statements', 'link:trust'],
  });
  await eventually(async () => expect(await doctorOn('unknown')).toMatchObject({ ok: true, warning: true }));
});
