import type { AgentFacts, FactsFeed } from '@fairlead/agent';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startReplicaPair, type ReplicaPair } from './linked-cluster.js';

let pair: ReplicaPair;

beforeAll(async () => {
  pair = await startReplicaPair();
});

afterAll(() => pair?.[Symbol.asyncDispose]());

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
  const agent = await pair.installation.startAgent({
    replicas: [pair.a, pair.b],
    links: 2,
    apiPort: pair.api.port,
    facts,
  });
  const { clusterId, generation } = pair.installation.cluster;
  const said = (total: number): object => ({ clusterId, generation, facts: factsOf(total) });
  for (const { facts: reported } of [pair.a, pair.b]) await eventually(() => expect(reported).toEqual([said(1)]));
  facts.change(factsOf(2));
  facts.change(factsOf(3));
  for (const { facts: reported } of [pair.a, pair.b])
    await eventually(() => expect(reported).toEqual([said(1), said(3)]));
  await agent.stop();
  expect(facts.listeners).toBe(0);
});

it('an agent of a release that says versions only is heard as well', async () => {
  const cluster = await pair.installation.addCluster('older');
  const agent = await pair.installation.startAgent({
    replicas: [pair.a],
    apiPort: pair.api.port,
    cluster,
    facts: versions,
  });
  const unsaid = { distribution: '', provider: '', nodes: null, capabilities: [] };
  await eventually(() =>
    expect(pair.a.facts.find(({ clusterId }) => clusterId === cluster.clusterId)?.facts).toEqual({
      ...versions,
      ...unsaid,
    }),
  );
  await agent.stop();
});
