import type { LinkProblem } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import type { RpcClient } from '@fairlead/messaging';
import { silentLogger } from '@fairlead/observability';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { GatewayEvents } from './gateway-events.js';
import { ProblemReporter, reportRefusals } from './report-problems.js';

let reports: LinkProblem[][];
let away: boolean;
let reporter: ProblemReporter;

beforeEach(() => {
  vi.useFakeTimers();
  reports = [];
  away = false;
  const call = (_rpc: unknown, _tenant: string, { troubles }: { troubles: LinkProblem[] }): Promise<unknown> => {
    if (away) return Promise.reject(new FairleadError('UNAVAILABLE', 'no registration is running'));
    reports.push(troubles);
    return Promise.resolve({});
  };
  reporter = new ProblemReporter({ call } as unknown as RpcClient, silentLogger, new AbortController().signal);
});
afterEach(() => vi.useRealTimers());

const note = (clusterId: string, reason = 'it broke'): void =>
  reporter.note({ clusterId, code: 'UNAVAILABLE', reason, address: '192.0.2.1' });
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

it('reports the newest of each cluster, once in two seconds', async () => {
  for (let n = 0; n < 100; n += 1) note('one', `try ${n}`);
  note('other', 'x'.repeat(1_000));
  await pass(1_999);
  expect(reports).toEqual([]);
  await pass(1);
  expect(reports.map((report) => report.map(({ clusterId, reason }) => [clusterId, reason]))).toEqual([
    [
      ['one', 'try 99'],
      ['other', 'x'.repeat(256)],
    ],
  ]);
  await pass(60_000);
  expect(reports).toHaveLength(1);
});

it('asks again while registration is away, and what is newer goes before what could not be told', async () => {
  away = true;
  note('one', 'older');
  note('two');
  await pass(2_000);
  note('one', 'newer');
  await pass(10_000);
  away = false;
  await pass(2_000);
  expect(reports).toHaveLength(1);
  expect(new Map(reports[0]?.map(({ clusterId, reason }) => [clusterId, reason]))).toEqual(
    new Map([
      ['one', 'newer'],
      ['two', 'it broke'],
    ]),
  );
});

it('is bounded: the oldest clusters give way, and no report is larger than the contract has it', async () => {
  for (let n = 0; n < 5_000; n += 1) note(`c${n}`);
  await pass(60_000);
  expect(reports.map((report) => report.length)).toEqual(Array.from({ length: 10 }, () => 200));
  expect(reports[0]?.[0]?.clusterId).toBe('c3000');
});

it('is told of refusals at the link by whoever proved a cluster, and of no others', async () => {
  const told: string[] = [];
  const events: GatewayEvents = {
    agentConnected: () => undefined,
    agentDisconnected: () => undefined,
    accessRefused: ({ code }) => void told.push(code),
    stream: () => undefined,
    administratorUsed: () => undefined,
  };
  const both = reportRefusals(events, reporter);
  const refusal = { code: 'CERTIFICATE_REVOKED', reason: 'it was revoked', address: '192.0.2.1' };
  both.accessRefused({ ...refusal, door: 'link', clusterId: 'one' });
  both.accessRefused({ ...refusal, door: 'link' });
  both.accessRefused({ ...refusal, door: 'kube-api', clusterId: 'two' });
  await pass(2_000);
  expect(told).toHaveLength(3);
  expect(reports.flat()).toMatchObject([{ clusterId: 'one', code: 'CERTIFICATE_REVOKED' }]);
});
