import type { Clock } from '@fairlead/clock';
import type { Rpc } from '@fairlead/contracts';
import { FairleadError, type ErrorCode } from '@fairlead/errors';
import type { RpcClient } from '@fairlead/messaging';
import { silentLogger } from '@fairlead/observability';
import { beforeEach, describe, expect, it } from 'vitest';
import { TrustReport } from './trust-report.js';

interface Batch {
  readonly held: readonly { readonly clusterId: string; readonly version: number }[];
}

let batches: Batch[];
let failures: ErrorCode[];
let pausesMs: number[];
let wake: (() => void) | null;
let report: TrustReport;

const rpc: RpcClient = {
  call: (_rpc: Rpc, _tenant: string, input: unknown) => {
    const code = failures.shift();
    if (code) return Promise.reject(new FairleadError(code, 'as scripted'));
    batches.push(input as Batch);
    return Promise.resolve({}) as never;
  },
};
const clock: Clock = {
  nowMs: () => 0,
  monotonicMs: () => 0,
  sleep: (ms) => {
    pausesMs.push(ms);
    return new Promise((resolve) => (wake = resolve));
  },
};

beforeEach(() => {
  [batches, failures, pausesMs, wake] = [[], [], [], null];
  report = new TrustReport(rpc, silentLogger, new AbortController().signal, clock);
});

/** Lets the pause that is under way end, and what follows it happen. */
async function pass(): Promise<void> {
  const end = wake;
  wake = null;
  end?.();
  for (let i = 0; i < 10; i += 1) await Promise.resolve();
}

const clusters = (batch: Batch | undefined): string[] => (batch?.held ?? []).map(({ clusterId }) => clusterId);

describe('what agents hold', () => {
  it('is gathered, and reported once', async () => {
    for (const id of ['a', 'b', 'a', 'b']) report.held(id, 2);
    expect(batches).toEqual([]);
    await pass();
    expect(batches.map(clusters)).toEqual([['a', 'b']]);
    report.held('a', 2);
    expect(wake).toBeNull();
    report.held('a', 3);
    await pass();
    expect(batches[1]).toEqual({ held: [{ clusterId: 'a', version: 3 }] });
  });

  it('goes in batches of 500, a pause between them', async () => {
    for (let i = 0; i < 1_201; i += 1) report.held(`cluster-${i}`, 1);
    for (let i = 0; i < 3; i += 1) await pass();
    expect(batches.map(({ held }) => held.length)).toEqual([500, 500, 201]);
    expect(pausesMs).toHaveLength(3);
    expect(pausesMs.every((ms) => ms >= 500 && ms <= 1_500)).toBe(true);
    expect(wake).toBeNull();
  });

  it('is repeated while keys is away, ever more rarely, and nothing is lost', async () => {
    failures = Array.from({ length: 12 }, (_, i) => (i % 2 === 0 ? 'UNAVAILABLE' : 'DEADLINE_EXCEEDED'));
    report.held('a', 2);
    for (let i = 0; i < 6; i += 1) await pass();
    report.held('b', 2);
    for (let i = 0; i < 7; i += 1) await pass();
    expect(batches.map(clusters)).toEqual([['a', 'b']]);
    expect(Math.max(...pausesMs)).toBeLessThanOrEqual(60_000);
    expect(pausesMs).toHaveLength(13);
  });

  it('of a version that was followed by another is of no interest any more', async () => {
    failures = ['UNAVAILABLE'];
    report.held('a', 2);
    await pass();
    report.held('b', 3);
    report.held('a', 2);
    report.held('c', 0);
    await pass();
    expect(batches).toEqual([{ held: [{ clusterId: 'b', version: 3 }] }]);
  });

  it('that keys will not take does not hold up what comes after it, and may be said again', async () => {
    failures = ['INVALID_ARGUMENT'];
    report.held('a', 2);
    await pass();
    expect([batches, wake]).toEqual([[], null]);
    report.held('b', 2);
    report.held('a', 2);
    await pass();
    expect(batches.map(clusters)).toEqual([['b', 'a']]);
  });

  it('is bounded: the oldest gives way', async () => {
    for (let i = 0; i < 20_010; i += 1) report.held(`cluster-${i}`, 1);
    await pass();
    expect(clusters(batches[0])[0]).toBe('cluster-10');
  });
});
