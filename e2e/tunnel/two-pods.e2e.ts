// @tier full: rollouts, evictions and whole lives of certificates; libs/installation/two-agents shows what a lost agent costs
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { kubectlOf, ownImage, podProcesses, startCluster, type Cluster, type Kubectl } from '@fairlead/testbed';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readEvents, type RecordedEvent } from '../support/events.js';
import { fairlead } from '../support/fairlead.js';
import { https } from '../support/https.js';
import { succeeds } from '../support/kubectl-streams.js';
import { readInvitation, startLooseAgent } from '../support/loose-agent.js';
import { adminToken, startTestStack, type TestStack } from '../support/test-stack.js';

const IMAGE = 'registry.example.test/fairlead/agent:1';
const ENTRY = fileURLToPath(new URL('../../apps/agent/dist/bundle/main.js', import.meta.url));
const PATIENCE = '--timeout=120s';
const [NAMESPACE, DEPLOYMENT] = ['fairlead-system', 'deployment/fairlead-agent'];
const SELECTOR = 'app.kubernetes.io/name=fairlead-agent';
const LIFE_SECONDS = 120;

let started: AsyncDisposableStack;
let running: TestStack;
let cluster: Cluster;
let kubectl: Kubectl;
let manifest: string;
let enrolledMs: number;

interface Presence {
  readonly state: string;
  readonly duplicate: string | null;
  readonly agents: readonly { readonly pod: { readonly name: string; readonly clusterUid: string } | null }[];
}

beforeAll(async () => {
  started = new AsyncDisposableStack();
  running = started.use(await startTestStack({ demo: false, agentImage: IMAGE, certificateTtlSeconds: LIFE_SECONDS }));
  const dataDir = join(running.stack.stateDir, 'edge');
  const images = { [IMAGE]: ownImage({ entry: ENTRY }) };
  cluster = started.use(await startCluster({ dataDir, images, log: () => undefined }));
  kubectl = await kubectlOf(cluster.kube.info.adminKubeconfigPath, { timeoutMs: 150_000, log: () => undefined });
  await fairlead(running.stack, 'cluster', 'create', 'edge');
  manifest = await fairlead(running.stack, 'cluster', 'import', 'edge');
});
afterAll(() => started?.disposeAsync());

async function show(): Promise<{ readonly generation: number; readonly presence: Presence }> {
  return JSON.parse(await fairlead(running.stack, 'cluster', 'show', 'edge', '-o', 'json')) as {
    generation: number;
    presence: Presence;
  };
}

/** The names of the pods that are linked, once these are all that are there. */
function bothLinked(): Promise<string[]> {
  return eventually(
    async () => {
      const { presence } = await show();
      const names = presence.agents.map(({ pod }) => pod?.name ?? '').sort();
      const pods = (await kubectl.insist(['get', 'pods', '-n', NAMESPACE, '-l', SELECTOR, '-o', 'name'])).trim();
      expect(presence).toMatchObject({ state: 'online', duplicate: null });
      expect(names).toHaveLength(2);
      expect(names.map((name) => `pod/${name}`)).toEqual(pods.split('\n').sort());
      return names;
    },
    { timeoutMs: 90_000, intervalMs: 1_000 },
  );
}

/** Lists at both doors while something happens; resolves with those that failed. */
async function failuresWhile(happens: () => Promise<void>): Promise<string[]> {
  const failures: string[] = [];
  const authorization = `Bearer ${await adminToken(running.stack)}`;
  const over = new AbortController();
  let asked = 0;
  const worker = async (index: number): Promise<void> => {
    const { doorUrl = '' } = running.stack.gateways[index % running.stack.gateways.length] ?? {};
    while (!over.signal.aborted) {
      const url = `${doorUrl}/clusters/edge/api/v1/namespaces`;
      const { status, body } = await https(running.stack, url, { headers: { authorization } }).catch(
        (error: unknown) => ({ status: 0, body: String(error) }),
      );
      asked += 1;
      if (status !== 200) failures.push(`${status} ${body}`);
    }
  };
  const workers = Promise.all([0, 1, 2, 3].map((index) => worker(index)));
  try {
    await happens();
  } finally {
    over.abort();
    await workers;
  }
  expect(asked).toBeGreaterThan(20);
  return failures;
}

const rolledOut = (): Promise<void> => succeeds(kubectl(['rollout', 'status', DEPLOYMENT, '-n', NAMESPACE, PATIENCE]));

async function duplicates(): Promise<RecordedEvent[]> {
  return (await readEvents(running.stack)).filter(({ type }) => type === 'dev.fairlead.agent.duplicated.v1');
}

it('two pods that start at once join by one key of one token, and say where they are', async () => {
  await succeeds(kubectl(['apply', '-f', '-'], manifest));
  await rolledOut();
  enrolledMs = Date.now();
  await bothLinked();
  const { generation, presence } = await show();
  const uid = await kubectl.insist(['get', 'namespace', 'kube-system', '-o', 'jsonpath={.metadata.uid}']);
  expect(generation).toBe(1);
  expect(presence.agents.map(({ pod }) => pod?.clusterUid)).toEqual([uid, uid]);
  const refused = (await readEvents(running.stack)).filter(({ type }) => type.includes('enrolment.refused'));
  expect(refused).toEqual([]);
});

it('one is killed, and then the other: no request that may be repeated fails', async () => {
  const failures = await failuresWhile(async () => {
    for (const index of [0, 1]) {
      const before = await podProcesses(kubectl, NAMESPACE, SELECTOR);
      process.kill(before[index]!.pid, 'SIGKILL');
      await eventually(
        async () => {
          const pids = (await podProcesses(kubectl, NAMESPACE, SELECTOR)).map(({ pid }) => pid);
          expect(pids).toHaveLength(2);
          expect(pids).not.toContain(before[index]!.pid);
        },
        { timeoutMs: 60_000 },
      );
      await succeeds(kubectl(['wait', '--for=condition=Ready', 'pod', '-l', SELECTOR, '-n', NAMESPACE, PATIENCE]));
    }
  });
  expect(failures).toEqual([]);
  await bothLinked();
});

it('a rollout replaces both: no request fails', async () => {
  const before = await bothLinked();
  const failures = await failuresWhile(async () => {
    await succeeds(kubectl(['rollout', 'restart', DEPLOYMENT, '-n', NAMESPACE]));
    await rolledOut();
    const after = await bothLinked();
    expect(after.filter((name) => before.includes(name))).toEqual([]);
  });
  expect(failures).toEqual([]);
});

it('a drain takes one at a time, and no request fails', async () => {
  const [first = '', second = ''] = await bothLinked();
  const evict = (pod: string) =>
    kubectl(
      ['create', '--raw', `/api/v1/namespaces/${NAMESPACE}/pods/${pod}/eviction`, '-f', '-'],
      JSON.stringify({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: pod, namespace: NAMESPACE } }),
    );
  const failures = await failuresWhile(async () => {
    await eventually(async () => expect((await evict(first)).code).toBe(0), { timeoutMs: 60_000, intervalMs: 500 });
    expect((await evict(second)).stderr).toContain('disruption budget');
    const after = await bothLinked();
    expect(after).toContain(second);
    expect(after).not.toContain(first);
  });
  expect(failures).toEqual([]);
});

it('both outlive the certificate that they began with, of which one renewal is enough for both', async () => {
  const list = async (): Promise<readonly { serial: string; notBefore: string }[]> => {
    const text = await fairlead(running.stack, 'certificate', 'list', 'edge', '-o', 'json');
    return (JSON.parse(text) as { certificates: { serial: string; notBefore: string }[] }).certificates;
  };
  await eventually(
    async () => {
      expect(Date.now() - enrolledMs).toBeGreaterThan(2 * LIFE_SECONDS * 1_000);
      expect((await show()).presence).toMatchObject({ state: 'online', duplicate: null });
    },
    { timeoutMs: 3 * LIFE_SECONDS * 1_000, intervalMs: 2_000 },
  );
  await bothLinked();
  const renewals = Math.ceil((Date.now() - enrolledMs) / ((LIFE_SECONDS * 1_000 * 2) / 3));
  // One more for two that began at once, and for two that renewed in the same moment.
  expect((await list()).length).toBeLessThanOrEqual(renewals + 3);
  expect((await show()).generation).toBe(1);
});

it('its identity in another place is told, and nothing was told before', async () => {
  expect(await duplicates()).toEqual([]);
  const secret = ['get', 'secret', 'fairlead-agent-identity', '-n', NAMESPACE];
  const held = await kubectl.insist([...secret, '-o', 'jsonpath={.data.identity}']);
  const identity = JSON.stringify({ identity: Buffer.from(held, 'base64').toString() });
  const invitation = { ...readInvitation(manifest), token: '' };
  await using thief = await startLooseAgent(running.stack, { invitation, identity });
  await thief.event('link.established');
  const [told] = await eventually(
    async () => {
      const events = await duplicates();
      expect(events).not.toEqual([]);
      return events;
    },
    { timeoutMs: 90_000, intervalMs: 1_000 },
  );
  expect(told?.data).toMatchObject({ name: 'edge', duplicate: 'elsewhere' });
  expect(await fairlead(running.stack, 'cluster', 'show', 'edge')).toMatch(/not all pods of one cluster/);
});
