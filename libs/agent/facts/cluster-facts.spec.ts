import type { Clock } from '@fairlead/clock';
import { silentLogger } from '@fairlead/observability';
import type { AgentFacts } from '@fairlead/tunnel/agent';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { followCluster } from './cluster-facts.js';
import type { FactsFeed } from './feed.js';
import type { Observation } from './observe-cluster.js';

const REFRESH_MS = 600_000;
let looks: (Observation | Promise<Observation>)[];
let befores: (AgentFacts | null)[];
let pausesMs: number[];
let wake: () => void;
let stop: AbortController;
let told: AgentFacts[];

const clock: Clock = {
  nowMs: () => 0,
  monotonicMs: () => 0,
  sleep: (ms) => {
    pausesMs.push(ms);
    return new Promise((resolve) => (wake = resolve));
  },
};
const factsOf = (total?: number): AgentFacts => ({
  agentVersion: '1',
  kubernetesVersion: 'v1.34.4',
  platform: 'p',
  ...(total === undefined ? {} : { nodes: { total, ready: total } }),
});
const well = (total?: number): Observation => ({ facts: factsOf(total), failure: null });

function follow(): FactsFeed {
  const feed = followCluster(
    {
      api: { host: 'x', port: 1, caPem: '', token: () => Promise.resolve('') },
      agentVersion: '1',
      linkCapabilities: [],
      logger: silentLogger,
      refreshMs: REFRESH_MS,
      clock,
      observe: async (_options, before) => {
        befores.push(before);
        return looks.shift() ?? well(0);
      },
    },
    stop.signal,
  );
  feed.onChange((facts) => told.push(facts));
  return feed;
}

/** Lets what is under way happen, and then the pause end. */
async function pass(): Promise<void> {
  for (let i = 0; i < 10; i += 1) await Promise.resolve();
  wake();
  for (let i = 0; i < 10; i += 1) await Promise.resolve();
}

beforeEach(() => {
  [looks, befores, pausesMs, told] = [[], [], [], []];
  wake = () => undefined;
  stop = new AbortController();
});
afterEach(() => {
  stop.abort();
  wake();
});

describe('what an agent says of its cluster', () => {
  it('is what the first look brought, until a later one brings something else', async () => {
    looks = [well(3), well(3), well(4)];
    const feed = follow();
    expect(await feed.current()).toEqual(factsOf(3));
    await pass();
    expect(told).toEqual([]);
    await pass();
    expect(told).toEqual([factsOf(4)]);
    expect(await feed.current()).toBe(told[0]);
    expect(befores).toEqual([null, factsOf(3), factsOf(3)]);
  });

  it('is looked at every ten minutes with jitter, and sooner after a failure', async () => {
    looks = [{ facts: factsOf(), failure: 'away' }, well(1), well(1)];
    follow();
    await pass();
    await pass();
    await pass();
    const [afterFailure = 0, ...others] = pausesMs;
    expect(afterFailure).toBeLessThanOrEqual(90_000);
    expect(others.length).toBeGreaterThan(1);
    for (const ms of others) {
      expect(ms).toBeGreaterThanOrEqual(REFRESH_MS / 2);
      expect(ms).toBeLessThanOrEqual(REFRESH_MS * 1.5);
    }
  });

  it('is told to nobody who stopped listening, and never after the end', async () => {
    looks = [well(1), well(2), well(3)];
    const feed = follow();
    const heard: AgentFacts[] = [];
    const leave = feed.onChange((facts) => heard.push(facts));
    await pass();
    leave();
    await pass();
    expect([heard.length, told.length]).toEqual([1, 2]);
    stop.abort();
    await pass();
    expect(told).toHaveLength(2);
  });
});
