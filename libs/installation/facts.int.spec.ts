import type { AgentFacts, FactsFeed } from '@fairlead/agent';
import { eventually } from '@fairlead/testing';
import { startRecordingApiServer, type RecordingApiServer } from '@fairlead/tunnel/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';

let installation: TestInstallation;
let api: RecordingApiServer;
let a: Replica;
let b: Replica;

beforeAll(async () => {
  installation = await startInstallation();
  api = await startRecordingApiServer(installation.authority);
  [a, b] = await Promise.all([installation.startReplica('gateway-a'), installation.startReplica('gateway-b')]);
});

afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
});

const versions = { agentVersion: '0.1.0', kubernetesVersion: 'v1.31.4+k3s1', platform: 'linux/x64' };
const factsOf = (total: number): AgentFacts => ({
  ...versions,
  distribution: 'k3s',
  provider: 'aws',
  nodes: { total, ready: 1 },
  capabilities: ['link:facts', 'rbac:list-nodes'],
});

/** What a test says that changed. */
class ChangingFacts implements FactsFeed {
  #facts = factsOf(1);
  readonly #listeners = new Set<(facts: AgentFacts) => void>();

  async current(): Promise<AgentFacts> {
    return this.#facts;
  }

  onChange(listener: (facts: AgentFacts) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  change(facts: AgentFacts): void {
    this.#facts = facts;
    for (const listener of this.#listeners) listener(facts);
  }

  get listeners(): number {
    return this.#listeners.size;
  }
}

it('what an agent says of its cluster, at first and when it changes, reaches registration from each replica, once', async () => {
  const facts = new ChangingFacts();
  const agent = await installation.startAgent({ replicas: [a, b], links: 2, apiPort: api.port, facts });
  const { clusterId, generation } = installation.cluster;
  const said = (total: number): object => ({ clusterId, generation, facts: factsOf(total) });
  for (const { facts: reported } of [a, b]) await eventually(() => expect(reported).toEqual([said(1)]));
  facts.change(factsOf(2));
  facts.change(factsOf(3));
  for (const { facts: reported } of [a, b]) await eventually(() => expect(reported).toEqual([said(1), said(3)]));
  await agent.stop();
  expect(facts.listeners).toBe(0);
});

it('an agent of a release that says versions only is heard as well', async () => {
  const cluster = await installation.addCluster('older');
  const agent = await installation.startAgent({ replicas: [a], apiPort: api.port, cluster, facts: versions });
  const unsaid = { distribution: '', provider: '', nodes: null, capabilities: [] };
  await eventually(() =>
    expect(a.facts.find(({ clusterId }) => clusterId === cluster.clusterId)?.facts).toEqual({
      ...versions,
      ...unsaid,
    }),
  );
  await agent.stop();
});
