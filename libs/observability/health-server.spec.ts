import { expect, it } from 'vitest';
import { Counter, Registry, createLogger, startHealthServer } from './index.js';

it('answers health, readiness with reasons, metrics and views', async () => {
  const registry = new Registry();
  new Counter({ name: 'fairlead_test_total', help: 'x', registers: [registry] }).inc();
  let ok = false;
  await using server = await startHealthServer({
    host: '127.0.0.1',
    port: 0,
    registry,
    readiness: () => [{ name: 'trust', ok, detail: 'no bundle yet' }],
    views: { '/debug/sessions': () => ({ sessions: [] }) },
  });
  const get = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${server.port}${path}`);
  expect((await get('/healthz')).status).toBe(200);
  expect((await get('/readyz')).status).toBe(503);
  ok = true;
  expect(await (await get('/readyz')).json()).toMatchObject({ ready: true, checks: [{ name: 'trust' }] });
  const metrics = await (await get('/metrics')).text();
  expect(metrics).toContain('fairlead_test_total 1');
  expect(metrics).toContain('fairlead_ready_check{check="trust"} 1');
  for (const name of ['process_cpu_seconds_total', 'process_resident_memory_bytes'])
    expect(metrics).toMatch(new RegExp(`^${name} [\\d.]*[1-9]`, 'm'));
  ok = false;
  expect(await (await get('/metrics')).text()).toContain('fairlead_ready_check{check="trust"} 0');
  expect(await (await get('/debug/sessions')).json()).toEqual({ sessions: [] });
  expect((await get('/other')).status).toBe(404);
});

it('logs one JSON line per event with the fields of its parents', () => {
  const lines: string[] = [];
  const logger = createLogger('gateway', 'info', { write: (line: string) => void lines.push(line) });
  logger.with({ clusterId: 'c1' }).warn('agent.disconnected', { code: 'TUNNEL_RESET' });
  logger.debug('quiet');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { level: 'warn', service: 'gateway', event: 'agent.disconnected', clusterId: 'c1', code: 'TUNNEL_RESET' },
  ]);
});
