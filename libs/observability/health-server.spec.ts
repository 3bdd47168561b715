import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Counter, Gauge, Registry, createLogger, startHealthServer } from './index.js';

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

it('answers at every address of the machine, of both families, where it is told `::`', async () => {
  const registry = new Registry();
  await using server = await startHealthServer({ host: '::', port: 0, registry, readiness: () => [] });
  const loopbacks = Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .filter(({ internal }) => internal)
    .map(({ address, family }) => (family === 'IPv6' ? `[${address}]` : address));
  expect(loopbacks).toContain('127.0.0.1');
  for (const address of loopbacks) {
    expect((await fetch(`http://${address}:${server.port}/healthz`)).status).toBe(200);
  }
});

const statusAt = async (url: string): Promise<number> => (await fetch(url)).status;

it('gives one address a part of its connections only, so that probes from another one are answered', async () => {
  await using server = await startHealthServer({ host: '::', port: 0, registry: new Registry(), readiness: () => [] });
  const held: Socket[] = [];
  const dial = async (): Promise<Socket> => {
    const socket = connect({ host: '127.0.0.1', port: server.port, localAddress: '127.0.0.9' });
    await once(socket, 'connect');
    held.push(socket);
    return socket;
  };
  for (let at = 0; at < 32; at += 1) await dial();
  const beyond = await dial();
  beyond.resume();
  await once(beyond, 'close');
  expect(held.filter(({ destroyed }) => !destroyed)).toHaveLength(32);
  expect(await statusAt(`http://127.0.0.1:${server.port}/healthz`)).toBe(200);
  for (const socket of held) socket.destroy();
});

it('answers one address a few hundred requests at once, and another one all the same', async () => {
  await using server = await startHealthServer({ host: '::', port: 0, registry: new Registry(), readiness: () => [] });
  const socket = connect({ host: '127.0.0.1', port: server.port, localAddress: '127.0.0.9' });
  let answered = 0;
  socket.setEncoding('latin1').on('data', (text: string) => void (answered += text.split('200 OK').length - 1));
  socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(2_000));
  // It is reset, as it sent more than is read.
  socket.on('error', () => undefined);
  await new Promise((resolve) => void socket.once('close', resolve));
  expect(answered).toBeLessThan(1_000);
  expect(await statusAt(`http://127.0.0.1:${server.port}/healthz`)).toBe(200);
});

it('makes its metrics once for all who wait for them, and says so when it cannot', async () => {
  const registry = new Registry();
  let made = 0;
  const collect = async (): Promise<void> => {
    made += 1;
    // As long as a large registry: how long it is left alone then depends on it.
    await delay(20);
    if (made > 3) throw new Error('no figures');
  };
  registry.registerMetric(new Gauge({ name: 'fairlead_slow', help: 'x', registers: [], collect }));
  await using server = await startHealthServer({ host: '127.0.0.1', port: 0, registry, readiness: () => [] });
  const url = `http://127.0.0.1:${server.port}/metrics`;
  expect(await Promise.all(Array.from({ length: 20 }, () => statusAt(url)))).toEqual(Array(20).fill(200));
  expect(made).toBeLessThanOrEqual(3);
  made = 3;
  expect(await statusAt(url)).toBe(500);
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
