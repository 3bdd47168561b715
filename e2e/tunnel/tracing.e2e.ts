// @tier full: the same with processes; libs/installation/tracing shows one trace over both replicas and the agent
import { buffer } from 'node:stream/consumers';
import { eventually, startOtlpCollector, type OtlpCollector } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectThrough, createDoorClient, type DoorClient } from '../support/connect-door.js';
import { startTcpAgent, type TcpAgent } from '../support/tcp-agent.js';
import { startTcpTarget, type TcpTarget } from '../support/tcp-target.js';
import { sessionsOf, showCluster, startTestStack, type TestStack } from '../support/test-stack.js';

let collector: OtlpCollector;
let running: TestStack;
let target: TcpTarget;
let agent: TcpAgent;
let client: DoorClient;

beforeAll(async () => {
  collector = await startOtlpCollector();
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: new URL(collector.url).origin };
  target = await startTcpTarget();
  running = await startTestStack({
    demo: false,
    env: {
      gateway: { ...endpoint, OTEL_BSP_SCHEDULE_DELAY: '50', OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=edge' },
    },
  });
  agent = await startTcpAgent(running.stack, { cluster: 'shop', links: 1, targets: [target.address] });
  // Long enough for nothing to be sent before it ends.
  await agent.restart({ ...endpoint, OTEL_BSP_SCHEDULE_DELAY: '60000', OTEL_SERVICE_NAME: 'shop-agent' });
  client = await createDoorClient(running.stack, 'prometheus', ['shop']);
});
afterAll(async () => {
  await client?.[Symbol.asyncDispose]();
  await agent?.[Symbol.asyncDispose]();
  await running?.[Symbol.asyncDispose]();
  await target?.[Symbol.asyncDispose]();
  await collector?.[Symbol.asyncDispose]();
});

/** The door of the replica that does not hold the link. */
async function relayingDoor(): Promise<string> {
  for (const { healthUrl, connectUrl } of running.stack.gateways) {
    if ((await sessionsOf(healthUrl)) === 0) return connectUrl;
  }
  throw new Error('every replica holds a link');
}

it('a trace has the spans of both replicas and of the agent, which delivers the last of them when it is stopped', async () => {
  const door = await eventually(() => relayingDoor());
  await eventually(async () => {
    const { status, socket } = await connectThrough(door, client, target.address);
    socket.end('echo x 5\nhello');
    await buffer(socket);
    if (status !== 200) throw new Error(String(status));
  });
  const traceId = await eventually(() => {
    const connect = collector.spans.find(({ name, failed }) => name === 'CONNECT' && !failed);
    if (!connect) throw new Error('the door sent no span yet');
    return connect.traceId;
  });
  const trace = (): string[] =>
    collector.spans
      .filter((span) => span.traceId === traceId)
      .map(({ name, resource }) => `${String(resource['service.name'])}: ${name}`)
      .toSorted((x, y) => x.localeCompare(y));
  const atGateways = ['fairlead-gateway: CONNECT', 'fairlead-gateway: tunnel.open', 'fairlead-gateway: tunnel.relay'];
  await eventually(() => expect(trace()).toEqual(atGateways));
  const { socket: held } = await connectThrough(door, client, target.address);
  held.on('error', () => undefined).write('hold x 0\n');
  agent.kill('SIGTERM');
  // An agent that ends gives what runs 20 s to end by itself.
  await eventually(() => expect(trace()).toEqual([...atGateways, 'shop-agent: tcp.dial', 'shop-agent: tunnel.serve']), {
    timeoutMs: 60_000,
  });

  // What it broke off itself is among them.
  const broken = (name: string): boolean => collector.spans.some((span) => span.name === name && span.failed);
  await eventually(() => expect([broken('tunnel.serve'), broken('CONNECT')]).toEqual([true, true]));
  const { id } = await showCluster(running.stack, 'shop');
  const replicas = new Set(collector.spans.map(({ resource }) => resource['fairlead.replica']));
  expect(replicas).toEqual(new Set(['gateway-a', 'gateway-b', undefined]));
  const last = collector.spans.find(({ name }) => name === 'tcp.dial');
  expect(last?.resource).toMatchObject({ 'fairlead.cluster.id': id, 'service.version': '0.1.0' });
  expect(last?.resource['service.instance.id']).toMatch(/^[0-9a-f-]{36}$/);
  expect(collector.requests[0]?.['x-tenant']).toBe('edge');
});
