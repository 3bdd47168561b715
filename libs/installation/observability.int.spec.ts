import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { Registry, type Logger } from '@fairlead/observability';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { callDoor } from './kube-client.js';
import { startRelayedCluster, type RelayedCluster } from './relayed-cluster.js';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const TRACEPARENT = `00-${TRACE_ID}-00f067aa0ba902b7-01`;

let cluster: RelayedCluster;
let { installation, api, target, a, b, through } = {} as RelayedCluster;
const agentRegistry = new Registry();
const lines: { at: string; event: string; fields: Record<string, unknown> }[] = [];

function collector(at: string): Logger {
  const collect = (event: string, fields: object = {}): void => void lines.push({ at, event, fields: { ...fields } });
  const logger: Logger = {
    log: (_level, event, fields) => collect(event, fields),
    debug: () => undefined,
    info: collect,
    warn: collect,
    error: collect,
    with: () => logger,
  };
  return logger;
}

beforeAll(async () => {
  cluster = await startRelayedCluster({ allowTargets: ['127.0.0.1:*'], agentRegistry, loggerOf: collector });
  ({ installation, api, target, a, b, through } = cluster);
});

afterAll(() => cluster?.[Symbol.asyncDispose]());

beforeEach(() => void (lines.length = 0));

async function valueOf(registry: Registry, name: string, labels: Record<string, string> = {}): Promise<number> {
  const found = (await registry.getSingleMetric(name)?.get())?.values.find((value) =>
    Object.entries(labels).every(([key, label]) => value.labels[key] === label),
  );
  return found?.value ?? 0;
}

/** The value of one series, as Prometheus would scrape it. */
async function metersOf(registry: Registry, name: string, labels: string): Promise<number | undefined> {
  const found = (await registry.metrics()).split('\n').find((row) => row.startsWith(`${name}{${labels}}`));
  return found === undefined ? undefined : Number(found.split(' ').at(-1));
}

const line = (at: string, event: string): Record<string, unknown> | undefined =>
  lines.find((each) => each.at === at && each.event === event)?.fields;
/** Of our own trace: a connection of a test before may be told to be over only now. */
const tracedLine = (at: string, event: string): Record<string, unknown> | undefined =>
  lines.find((each) => each.at === at && each.event === event && each.fields['traceId'] === TRACE_ID)?.fields;

describe('a connection through the relay', () => {
  it('is counted while it runs, at each process it goes through', async () => {
    const figures = (): Promise<number[]> =>
      Promise.all([
        valueOf(b.registry, 'fairlead_gateway_bytes_total', { door: 'connect', direction: 'up' }),
        valueOf(a.registry, 'fairlead_gateway_relayed_bytes_total', { direction: 'forward' }),
        valueOf(agentRegistry, 'fairlead_agent_tcp_bytes_total', { direction: 'to-target' }),
      ]);
    const { socket } = await through(b);
    const before = await figures();
    socket.resume().write(Buffer.alloc(40_000));
    await eventually(async () => {
      const grown = (await figures()).map((value, index) => value - (before[index] ?? 0));
      expect(grown[0]).toBe(40_000);
      // With frames around it.
      expect(grown[1]).toBeGreaterThan(40_000);
      expect(grown[2]).toBe(40_000);
    });
    // Those that came before are gone soon, if they are not yet.
    await eventually(async () => {
      expect(await valueOf(a.registry, 'fairlead_gateway_relayed_open_tunnels')).toBe(1);
      expect(await valueOf(agentRegistry, 'fairlead_agent_tunnels_in_use')).toBe(1);
    });
    expect(await valueOf(agentRegistry, 'fairlead_agent_links')).toBe(1);
    expect(await valueOf(agentRegistry, 'fairlead_agent_tcp_pending_dials')).toBe(0);
    expect(await agentRegistry.getSingleMetricAsString('fairlead_agent_tcp_dial_seconds')).toMatch(/_count [1-9]/);
    socket.end();
    await text(socket);
    await eventually(async () => expect(await valueOf(a.registry, 'fairlead_gateway_relayed_open_tunnels')).toBe(0));
  });

  it('is one line with its cause in the log of each, found by the tunnel and by the caller’s trace', async () => {
    const { socket } = await through(b, [`Traceparent: ${TRACEPARENT}`]);
    socket.end('hello');
    expect(await text(socket)).toBe('hello');
    // Each learns of the end by itself, in no order.
    const [door] = await eventually(() => {
      const closed = [
        tracedLine('gateway-b', 'connect.closed'),
        tracedLine('gateway-a', 'relay.closed'),
        tracedLine('agent', 'tcp.closed'),
      ];
      if (closed.includes(undefined)) throw new Error(`they logged ${lines.map(({ event }) => event).join(', ')}`);
      return closed;
    });
    expect(door).toMatchObject({ cause: 'COMPLETE', via: 'relay', traceId: TRACE_ID, bytesUp: 5, bytesDown: 5 });
    const tunnelId = door?.['tunnelId'];
    expect(tracedLine('gateway-a', 'relay.closed')).toMatchObject({ tunnelId, traceId: TRACE_ID, cause: 'COMPLETE' });
    expect(tracedLine('agent', 'tcp.closed')).toMatchObject({
      tunnelId,
      traceId: TRACE_ID,
      cause: 'COMPLETE',
      bytesUp: 5,
      bytesDown: 5,
    });
  });
});

describe('a request at the Kubernetes API door', () => {
  it('goes on in the caller’s trace up to the API server and in the logs, at the caller’s span if we record none', async () => {
    const { headers } = await callDoor(installation, b, { headers: ['Traceparent', TRACEPARENT] });
    const request = api.requests.at(-1);
    const sent = request?.rawHeaders[request.rawHeaders.indexOf('Traceparent') + 1];
    expect(sent).toBe(TRACEPARENT);
    await eventually(() => expect(line('gateway-b', 'kube.request')).toMatchObject({ traceId: TRACE_ID, status: 200 }));
    // The caller chose the trace; what names this one request is ours.
    const auditId = request?.rawHeaders[request.rawHeaders.indexOf('Audit-ID') + 1];
    expect(auditId).toBe(line('gateway-b', 'kube.request')?.['requestId']);
    expect(headers['audit-id']).not.toBe(TRACE_ID);
  });

  it('is counted as granted, with what it took without the kube-apiserver, of which its caller sees nothing', async () => {
    const figures = async (): Promise<number[]> => [
      await valueOf(b.registry, 'fairlead_gateway_connects_total', { door: 'kube-api', result: 'ok' }),
      (await metersOf(b.registry, 'fairlead_gateway_added_seconds_count', 'via="relay"'))!,
    ];
    const before = await figures();
    const { headers } = await callDoor(installation, b);
    expect(headers).not.toHaveProperty('fairlead-upstream-ms');
    expect(await figures()).toEqual(before.map((figure) => figure + 1));
    for (const { registry } of [a, b])
      expect(await valueOf(registry, 'fairlead_gateway_clusters', { state: 'linked' })).toBe(1);
  });

  it('begins a trace of its own when the caller’s cannot be read, and says which in a refusal', async () => {
    const answer = await callDoor(installation, b, { headers: ['Traceparent', '00-0-0-00'], token: 'wrong' });
    expect(answer.status).toBe(401);
    await eventually(() => expect(line('gateway-b', 'kube.request.failed')).toBeDefined());
    const traceId = line('gateway-b', 'kube.request.failed')?.['traceId'];
    expect(traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(answer.body).toContain(`(trace ${String(traceId)})`);
  });
});

describe('the debug view', () => {
  it('shows what is live, with what it carries, and no secret', async () => {
    const { socket } = await through(a);
    const echoed = once(socket, 'data');
    socket.write('hello');
    await echoed;
    const view = a.gateway.debugView() as Record<string, unknown[]>;
    expect(view['totals']).toMatchObject({ sessions: 1, connections: 1 });
    expect(view['sessions']?.[0]).toMatchObject({ clusterId: installation.cluster.clusterId, link: 0 });
    expect(view['connections']?.[0]).toMatchObject({
      door: 'connect',
      clusterId: installation.cluster.clusterId,
      target: `127.0.0.1:${target.port}`,
      address: '127.0.0.1',
      bytesUp: 5,
      since: expect.stringMatching(/^20\d\d-/) as string,
    });
    const shown = JSON.stringify(view);
    expect(shown).not.toMatch(/PRIVATE KEY|tokenHash/);
    expect(shown).not.toContain(installation.token);
    socket.end();
    await text(socket.resume());
  });
});

const failing = (): string[] =>
  b.gateway
    .readiness()
    .filter(({ ok }) => !ok)
    .map(({ name }) => name);

it('a replica that was ready stays so while NATS hangs, says that, and goes on by what it knows', async () => {
  const said = (): string | undefined => b.gateway.readiness().find(({ name }) => name === 'nats')?.detail;
  expect(said()).toBe('connected');
  const { server } = installation.nats;
  server.kill('SIGSTOP');
  try {
    await eventually(() => expect(said()).toMatch(/away/), { timeoutMs: 60_000 });
    expect(failing()).toEqual([]);
    expect(await callDoor(installation, b)).toMatchObject({ status: 200 });
  } finally {
    server.kill('SIGCONT');
  }
  await eventually(() => expect(said()).toBe('connected'), { timeoutMs: 60_000 });
}, 150_000);

it('a replica is unready from the moment it drains', async () => {
  expect(failing()).toEqual([]);
  const stopping = b.stop();
  expect(failing()).toEqual(['draining']);
  await stopping;
});
