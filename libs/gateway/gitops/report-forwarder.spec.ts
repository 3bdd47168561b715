import { systemClock, type Clock } from '@fairlead/clock';
import { MAX_REPORT_BYTES, type InstallerReport } from '@fairlead/desired-state';
import { FairleadError, type ErrorCode } from '@fairlead/errors';
import { Registry, silentLogger } from '@fairlead/observability';
import type { AgentSession } from '@fairlead/tunnel/gateway';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createGatewayMetrics, type GatewayMetrics } from '../status/gateway-metrics.js';
import { ReportForwarder } from './report-forwarder.js';

const ONE = '6c1f3a0e-3d1c-4b52-9a7e-6f1d2b3c4d5e';
const OTHER = '7c1f3a0e-3d1c-4b52-9a7e-6f1d2b3c4d5e';

let failing: ErrorCode | null;
let metrics: GatewayMetrics;
let forwarder: ReportForwarder;
let told: { tenantId: string; clusterId: string; report: InstallerReport }[];
let stopping: AbortController;

const clock: Clock = { ...systemClock, monotonicMs: () => Date.now() };

beforeEach(() => {
  vi.useFakeTimers();
  [failing, told, stopping] = [null, [], new AbortController()];
  metrics = createGatewayMetrics(new Registry());
  const rpc = {
    call: (_: unknown, tenantId: string, input: unknown) => {
      if (failing) return Promise.reject(new FairleadError(failing, 'as scripted'));
      told.push({ tenantId, ...(input as { clusterId: string; report: InstallerReport }) });
      return Promise.resolve({} as never);
    },
  };
  forwarder = new ReportForwarder({ rpc, metrics, logger: silentLogger, signal: stopping.signal, clock });
});
afterEach(() => {
  stopping.abort();
  vi.useRealTimers();
});

const report = (clusterId: string, observedRevision = 1, message = ''): InstallerReport => ({
  version: 1,
  clusterId,
  installerVersion: '0.1.0',
  installerInstance: ONE,
  observedRevision,
  appliedRevision: 0,
  bundleDigest: null,
  wantedBundle: null,
  phase: 'waiting',
  problem: message === '' ? null : { code: 'X', message, since: '2026-01-01T00:00:00Z' },
  publicKeys: [],
  source: null,
  sync: null,
  functionalAt: null,
  events: [],
});

const take = (clusterId: string, value: unknown): void =>
  forwarder.take({ facts: { tenantId: 'default', clusterId } } as AgentSession, Buffer.from(JSON.stringify(value)));

async function counted(): Promise<Record<string, number>> {
  const { values } = await metrics.installerReports.get();
  return Object.fromEntries(values.map(({ labels, value }) => [String(labels['outcome']), value]));
}

describe('a report', () => {
  it('goes on for the cluster and the tenant of its link', async () => {
    take(ONE, report(ONE));
    await vi.advanceTimersByTimeAsync(0);
    expect(told).toEqual([{ tenantId: 'default', clusterId: ONE, report: report(ONE) }]);
    expect(await counted()).toEqual({ ok: 1 });
  });

  it('goes on with the hosts that its cluster does not reach', async () => {
    const host = { kind: 'registry', host: 'ghcr.io', code: 'UNREACHABLE', message: 'no connection' } as const;
    const value = { ...report(ONE), preflight: { at: '2026-01-01T00:00:00Z', hosts: [host] } };
    take(ONE, value);
    await vi.advanceTimersByTimeAsync(0);
    expect(told).toEqual([{ tenantId: 'default', clusterId: ONE, report: value }]);
  });

  it.each([
    ['of another cluster', report(OTHER), 'other-cluster'],
    ['that is no report', { clusterId: ONE }, 'invalid'],
    ['with more in it than may be', { ...report(ONE), phase: 'x'.repeat(20) }, 'invalid'],
    ['that is too large', 'x'.repeat(MAX_REPORT_BYTES), 'too-large'],
  ])('%s is dropped and counted', async (_, value, outcome) => {
    take(ONE, value);
    await vi.advanceTimersByTimeAsync(0);
    expect([told, await counted()]).toEqual([[], { [outcome]: 1 }]);
  });

  it('that is not JSON is dropped and counted', async () => {
    forwarder.take({ facts: { tenantId: 'default', clusterId: ONE } } as AgentSession, Buffer.from('{"version":'));
    expect([told, await counted()]).toEqual([[], { invalid: 1 }]);
  });

  it('in a flood is dropped, one in two seconds goes on, and other clusters lose nothing', async () => {
    for (let i = 0; i < 1_000; i += 1) {
      take(ONE, report(ONE, i));
      await vi.advanceTimersByTimeAsync(10);
    }
    take(OTHER, report(OTHER));
    await vi.advanceTimersByTimeAsync(0);
    const ofOne = told.filter(({ clusterId }) => clusterId === ONE).length;
    expect(ofOne).toBeGreaterThanOrEqual(8);
    expect(ofOne).toBeLessThanOrEqual(9);
    expect(told.at(-1)?.clusterId).toBe(OTHER);
    expect(await counted()).toEqual({ ok: ofOne + 1, 'rate-limited': 1_000 - ofOne });
  });
});

describe('while gitops is away', () => {
  it.each<ErrorCode>(['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'RATE_LIMITED'])(
    '(%s) the newest of each cluster waits, and goes on when it is back',
    async (code) => {
      failing = code;
      for (let revision = 1; revision <= 4; revision += 1) {
        take(ONE, report(ONE, revision));
        await vi.advanceTimersByTimeAsync(2_500);
      }
      take(OTHER, report(OTHER, 7));
      expect(told).toEqual([]);
      failing = null;
      await vi.advanceTimersByTimeAsync(60_000);
      expect(told.map(({ clusterId, report: { observedRevision } }) => `${clusterId}@${observedRevision}`)).toEqual(
        expect.arrayContaining([`${ONE}@4`, `${OTHER}@7`]),
      );
      expect(told).toHaveLength(2);
    },
  );

  it('what it refuses is not tried again', async () => {
    failing = 'NOT_FOUND';
    take(ONE, report(ONE));
    await vi.advanceTimersByTimeAsync(0);
    failing = null;
    await vi.advanceTimersByTimeAsync(120_000);
    expect([told, await counted()]).toEqual([[], { refused: 1 }]);
  });

  it('no more is held than 32 MiB: the oldest goes first', async () => {
    failing = 'UNAVAILABLE';
    const clusters = Array.from({ length: 1_400 }, (_, i) => `${ONE.slice(0, -4)}${String(i).padStart(4, '0')}`);
    const events = Array.from({ length: 27 }, (_, i) => ({
      sequence: i + 1,
      at: '2026-01-01T00:00:00Z',
      step: 'applied' as const,
      object: '',
      message: 'x'.repeat(1_000),
    }));
    for (const clusterId of clusters) take(clusterId, { ...report(clusterId), events });
    await vi.advanceTimersByTimeAsync(0);
    failing = null;
    await vi.advanceTimersByTimeAsync(600_000);
    const { ok = 0, forgotten = 0 } = await counted();
    expect(ok + forgotten).toBe(clusters.length);
    expect(ok).toBeGreaterThan(1_000);
    expect(forgotten).toBeGreaterThan(50);
    expect(told.map(({ clusterId }) => clusterId)).toContain(clusters.at(-1));
  });
});
