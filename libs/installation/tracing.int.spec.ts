import { text } from 'node:stream/consumers';
import { Registry, silentLogger, startTracing, type Tracing } from '@fairlead/observability';
import { eventually, startOtlpCollector, type OtlpCollector, type ReceivedSpan } from '@fairlead/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ConnectAnswer } from './connect-client.js';
import { callDoor } from './kube-client.js';
import { startRelayedCluster, type RelayedCluster } from './relayed-cluster.js';
import type { Replica } from './replicas.js';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = '00f067aa0ba902b7';
const TRACEPARENT = `00-${TRACE_ID}-${CALLER}-01`;

let collector: OtlpCollector;
let cluster: RelayedCluster;
let { installation, api, target, a, b } = {} as RelayedCluster;
const tracings: Tracing[] = [];
const registries: Registry[] = [];

beforeAll(async () => {
  collector = await startOtlpCollector();
  cluster = await startRelayedCluster({ allowTargets: ['127.0.0.1:1024-65535'], tracerOf });
  ({ installation, api, target, a, b } = cluster);
});

afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
  await Promise.all(tracings.map((tracing) => tracing[Symbol.asyncDispose]()));
  await collector?.[Symbol.asyncDispose]();
});

beforeEach(() => {
  collector.mood = 'takes';
  collector.spans.length = 0;
});

async function tracerOf(name: string) {
  const registry = new Registry();
  const tracing = await startTracing({
    settings: { url: collector.url, delayMs: 20, maxSpans: 64 },
    resource: { 'service.name': name },
    logger: silentLogger,
    registry,
  });
  tracings.push(tracing);
  registries.push(registry);
  return tracing.tracer;
}

const through = (replica: Replica, headers: readonly string[] = [], port = target.port): Promise<ConnectAnswer> =>
  cluster.through(replica, ['X-Secret: hunter2', ...headers], port);

async function echo(replica: Replica, headers: readonly string[] = []): Promise<void> {
  const { socket } = await through(replica, headers);
  socket.end('hello');
  expect(await text(socket)).toBe('hello');
}

/** The trace as a tree, once it has so many spans: each span under its parent, which it began after. */
async function treeOf(traceId: string, spans: number): Promise<string[]> {
  const found = await eventually(() => {
    const those = ofTrace(traceId);
    expect(those.map(({ name }) => name)).toHaveLength(spans);
    return those;
  });
  const lines: string[] = [];
  const walk = (parent: string, depth: number): void => {
    for (const span of found.filter(({ parentSpanId }) => parentSpanId === parent)) {
      lines.push(`${'  '.repeat(depth)}${String(span.resource['service.name'])}: ${span.name} (${span.kind})`);
      walk(span.spanId, depth + 1);
    }
  };
  walk(found.some(({ parentSpanId }) => parentSpanId === CALLER) ? CALLER : '', 0);
  return lines;
}

const ofTrace = (traceId = TRACE_ID): ReceivedSpan[] => collector.spans.filter((span) => span.traceId === traceId);

const named = (name: string, spans = ofTrace()): ReceivedSpan => {
  const span = spans.find((each) => each.name === name);
  if (!span) throw new Error(`there is no span ${name}`);
  return span;
};

describe('a connection through the other replica', () => {
  it('is one trace of all that it went through, below the caller’s span', async () => {
    await echo(b, [`Traceparent: ${TRACEPARENT}`]);
    expect(await treeOf(TRACE_ID, 5)).toEqual([
      'gateway-b: CONNECT (server)',
      '  gateway-b: tunnel.open (client)',
      '    gateway-a: tunnel.relay (server)',
      '      agent: tunnel.serve (server)',
      '        agent: tcp.dial (client)',
    ]);
    const { tenantId, clusterId } = installation.cluster;
    const cluster = { 'fairlead.tenant.id': tenantId, 'fairlead.cluster.id': clusterId };
    const asked = { 'server.address': '127.0.0.1', 'server.port': target.port };
    const carried = { 'fairlead.bytes.up': 5, 'fairlead.bytes.down': 5, 'fairlead.outcome': 'COMPLETE' };
    expect(named('CONNECT').attributes).toMatchObject({ ...cluster, ...asked, ...carried, 'fairlead.via': 'relay' });
    expect(named('tunnel.open').attributes).toMatchObject({ ...cluster, 'fairlead.replica': 'gateway-a' });
    expect(named('tunnel.relay').attributes).toMatchObject({ ...cluster, 'fairlead.outcome': 'COMPLETE' });
    expect(named('tunnel.serve').attributes).toMatchObject({ ...cluster, ...asked, ...carried });
    expect(named('tcp.dial').attributes).toEqual({ ...asked, 'network.peer.address': '127.0.0.1' });
    expect([named('CONNECT').events, named('tunnel.serve').events]).toEqual([['established'], ['opened']]);
    for (const { startNs, endNs } of ofTrace()) expect(endNs).toBeGreaterThan(startNs);
    expect(ofTrace().some(({ failed }) => failed)).toBe(false);
  });

  it('begins a trace of its own if the caller has none', async () => {
    await echo(b);
    await eventually(() => expect(collector.spans).toHaveLength(5));
    const { traceId, parentSpanId } = named('CONNECT', collector.spans);
    expect(await treeOf(traceId, 5)).toHaveLength(5);
    expect(parentSpanId).toBe('');
  });

  it('is not recorded anywhere if the caller says not to', async () => {
    await echo(b, [`Traceparent: 00-${TRACE_ID}-${CALLER}-00`]);
    await echo(a);
    // All of the second one's, so that none comes late, in another test.
    await eventually(() => expect(collector.spans).toHaveLength(4));
    expect(collector.spans.filter(({ traceId }) => traceId === TRACE_ID)).toEqual([]);
  });

  it('that is refused says at each hop by whom and why, and nothing of what was sent', async () => {
    const { status } = await through(
      b,
      [`Traceparent: ${TRACEPARENT}`, 'Proxy-Authorization: Basic ZGVtbzpodW50ZXIy'],
      22,
    );
    expect(status).toBe(403);
    expect(await treeOf(TRACE_ID, 5)).toHaveLength(5);
    for (const name of ['CONNECT', 'tunnel.open', 'tunnel.serve', 'tcp.dial']) {
      expect(named(name)).toMatchObject({ failed: true, attributes: { 'error.type': 'TARGET_REFUSED' } });
    }
    const said = JSON.stringify(collector.spans, (_, value: unknown) => (typeof value === 'bigint' ? '' : value));
    expect(said).not.toMatch(/hunter2|ZGVtbzpodW50ZXIy/i);
  });
});

describe('a request at the Kubernetes API door', () => {
  it('is a span at the door and one at the agent, and goes on below it', async () => {
    const { token } = installation;
    await callDoor(installation, b, {
      path: '/clusters/demo/api/v1/namespaces/private-name/pods?labelSelector=private-query',
      headers: ['Traceparent', TRACEPARENT],
    });
    // Each sends its span by itself, in no order.
    const [door, agent] = await eventually(() => [
      named('GET /clusters/{cluster}/api/v1/namespaces/{namespace}/pods'),
      named('GET /api/v1/namespaces/{namespace}/pods'),
    ]);
    expect([door?.parentSpanId, agent?.parentSpanId, agent?.kind]).toEqual([CALLER, door?.spanId, 'client']);
    expect(door).toMatchObject({
      kind: 'server',
      events: ['answered'],
      attributes: { 'http.response.status_code': 200, 'fairlead.cluster.id': installation.cluster.clusterId },
    });
    const request = api.requests.at(-1);
    const sent = request?.rawHeaders[request.rawHeaders.indexOf('Traceparent') + 1];
    expect(sent).toBe(`00-${TRACE_ID}-${agent?.spanId}-01`);
    expect(request?.rawHeaders.filter((name) => name.toLowerCase() === 'traceparent')).toHaveLength(1);
    const said = JSON.stringify(collector.spans, (_, value: unknown) => (typeof value === 'bigint' ? '' : value));
    for (const secret of [token, 'private-name', 'private-query', 'the-service-account-token', 'admin']) {
      expect(said).not.toContain(secret);
    }
  });

  it('of an unauthenticated peer says no more than that it was refused', async () => {
    await callDoor(installation, b, { token: 'wrong', headers: ['Traceparent', TRACEPARENT] });
    expect(await treeOf(TRACE_ID, 1)).toEqual(['gateway-b: GET (server)']);
    expect(named('GET').attributes).toEqual({
      'http.request.method': 'GET',
      'http.response.status_code': 401,
      'fairlead.outcome': 'UNAUTHENTICATED',
      'error.type': 'UNAUTHENTICATED',
    });
  });
});

describe('a collector that hangs', () => {
  it('holds up no connection, and no more spans than the bound', async () => {
    collector.mood = 'hangs';
    const dropped = (): Promise<number[]> =>
      Promise.all(
        registries.map(async (registry) => {
          const metric = await registry.getSingleMetric('fairlead_tracing_spans_total')?.get();
          return metric?.values.find(({ labels }) => labels['outcome'] === 'dropped')?.value ?? 0;
        }),
      );
    // Two spans of each connection, and room for 64, at gateway-b and at the agent; one each at gateway-a.
    let rounds = 0;
    for (; rounds < 60 && (await dropped())[1] === 0; rounds += 1) await echo(b);
    await eventually(async () => expect((await dropped())[1]).toBeGreaterThan(0));
    expect(2 * rounds).toBeGreaterThan(64);
    expect((await dropped())[0]).toBe(0);
  });
});
