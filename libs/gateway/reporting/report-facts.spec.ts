import type { Clock } from '@fairlead/clock';
import { Facts, MAX_CLUSTER_FACTS, type ClusterFacts, type Rpc } from '@fairlead/contracts';
import { FairleadError, type ErrorCode } from '@fairlead/errors';
import type { RpcClient } from '@fairlead/messaging';
import { silentLogger } from '@fairlead/observability';
import { beforeEach, describe, expect, it } from 'vitest';
import { FactsReport } from './report-facts.js';

let batches: ClusterFacts[][];
let failures: ErrorCode[];
let nowMs: number;
let wake: (() => void) | null;
let answer: Promise<void>;
let report: FactsReport;

const rpc: RpcClient = {
  call: (_rpc: Rpc, _tenant: string, input: unknown) => {
    const code = failures.shift();
    if (code) return Promise.reject(new FairleadError(code, 'as scripted'));
    batches.push((input as { clusters: ClusterFacts[] }).clusters);
    return answer.then(() => ({})) as never;
  },
};
const clock: Clock = {
  nowMs: () => 0,
  monotonicMs: () => nowMs,
  sleep: () => new Promise((resolve) => (wake = resolve)),
};

beforeEach(() => {
  [batches, failures, nowMs, wake, answer] = [[], [], 0, null, Promise.resolve()];
  report = new FactsReport(rpc, silentLogger, new AbortController().signal, clock);
});

/** Lets the pause that is under way end, and what follows it happen. */
async function pass(): Promise<void> {
  const end = wake;
  wake = null;
  end?.();
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
}

const factsOf = (total: number): Facts =>
  Facts.parse({ agentVersion: '1', kubernetesVersion: 'v1', platform: 'p', nodes: { total, ready: 0 } });
const say = (clusterId: string, total: number, generation = 1): void =>
  report.said({ clusterId, generation }, factsOf(total));
const told = (): unknown[] =>
  batches.map((batch) => batch.map(({ clusterId, facts }) => `${clusterId}:${facts.nodes?.total}`));

describe('what agents say of their clusters', () => {
  it('is gathered, and the newest of each cluster is told, once', async () => {
    for (const total of [1, 2, 3]) say('a', total);
    say('b', 1);
    expect(batches).toEqual([]);
    await pass();
    expect(told()).toEqual([['a:3', 'b:1']]);
    say('a', 3);
    say('b', 1);
    await pass();
    expect(wake).toBeNull();
    expect(told()).toHaveLength(1);
  });

  it('is told again of a new enrolment', async () => {
    say('a', 1, 1);
    await pass();
    say('a', 1, 2);
    await pass();
    expect(batches.map(([word]) => word?.generation)).toEqual([1, 2]);
  });

  it('is not told if it is taken back in time, and is if that was too late', async () => {
    say('a', 1);
    await pass();
    say('a', 2);
    say('a', 1);
    await pass();
    expect(told()).toEqual([['a:1']]);
    const { promise, resolve } = Promise.withResolvers<void>();
    answer = promise;
    say('a', 2);
    await pass();
    say('a', 1);
    resolve();
    await pass();
    await pass();
    expect(told()).toEqual([['a:1'], ['a:2'], ['a:1']]);
  });

  it('of one that talks all the time is told five times, and then once a minute', async () => {
    for (let total = 0; total < 20; total += 1) {
      say('a', total);
      await pass();
    }
    expect(told()).toEqual([['a:0'], ['a:1'], ['a:2'], ['a:3'], ['a:4']]);
    say('b', 1);
    await pass();
    expect(told().at(-1)).toEqual(['b:1']);
    nowMs += 61_000;
    await pass();
    expect(told().at(-1)).toEqual(['a:19']);
  });

  it('waits while registration is away, and goes in batches', async () => {
    failures = ['UNAVAILABLE', 'DEADLINE_EXCEEDED'];
    for (let each = 0; each < MAX_CLUSTER_FACTS + 1; each += 1) say(`c${each}`, 1);
    for (let each = 0; each < 4; each += 1) await pass();
    expect(batches.map((batch) => batch.length)).toEqual([MAX_CLUSTER_FACTS, 1]);
  });

  it('that registration cannot read does not hold up the others', async () => {
    failures = ['INVALID_ARGUMENT'];
    say('a', 1);
    await pass();
    say('b', 1);
    await pass();
    expect(told()).toEqual([['b:1']]);
  });
});
