import { FairleadError } from '@fairlead/errors';
import { noTracer, silentLogger } from '@fairlead/observability';
import { expect, it, vi } from 'vitest';
import { TunnelOpener, type TunnelOpenerOptions } from './tunnel-opener.js';

const trace = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', flags: '00' };

it('has few log lines of a cluster whose agent refuses every tunnel, and tells those of others', async () => {
  const info = vi.fn();
  const inc = vi.fn();
  const take = (): Promise<never> => Promise.reject(new FairleadError('AGENT_OVERLOADED', 'no tunnel is free'));
  const refuses = { take, facts: { sessionId: 'session-1' } };
  const opener = new TunnelOpener({
    registry: { of: () => [refuses] },
    table: { owners: () => [], seenWithin: () => false },
    time: { nowMs: () => 0 },
    metrics: { pendingOpens: { inc: vi.fn(), dec: vi.fn() }, tunnels: { inc } },
    logger: { ...silentLogger, info },
    tracer: noTracer,
  } as unknown as TunnelOpenerOptions);
  const open = async (clusterId: string): Promise<void> => {
    const cluster = { tenantId: 'default', clusterId, name: clusterId, generation: 1 } as never;
    const opening = opener.open(cluster, { case: 'kubeApi', value: {} as never }, new AbortController().signal, trace);
    await expect(opening).rejects.toMatchObject({ code: 'AGENT_OVERLOADED' });
  };
  for (let requests = 0; requests < 300; requests += 1) await open('one');
  expect(inc).toHaveBeenCalledTimes(300);
  expect(info.mock.calls.length).toBeGreaterThanOrEqual(100);
  expect(info.mock.calls.length).toBeLessThan(200);
  info.mockClear();
  await open('other');
  expect(info.mock.calls).toMatchObject([['tunnel.probe.failed', { clusterId: 'other', code: 'AGENT_OVERLOADED' }]]);
});
