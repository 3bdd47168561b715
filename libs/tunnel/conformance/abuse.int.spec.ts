// @process own: it measures the memory of its process
import { setTimeout as delay } from 'node:timers/promises';
import { startInstallation, type Replica, type RunningAgent, type TestInstallation } from '@fairlead/installation';
import { Registry } from '@fairlead/observability';
import { eventually } from '@fairlead/testing';
import { RELAY_PATH, TUNNEL_PATH, type TunnelConnection } from '@fairlead/tunnel/link';
import { startTcpTarget, type TcpTarget } from '@fairlead/tunnel/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dialRelay, stillWorks } from './gateway-peers.js';
import { subjectOf, type GatewaySubject, type KeyAndChain } from './gateway-subject.js';
import { FLAG, FRAME, NEWEST_ENTRY, RawHttp2, callHeaders, http2Frame, literal, rstStream } from './raw-http2.js';
import { ScriptedAgent, type LinkedAgent } from './scripted-agent.js';
import { openOf } from './wire.js';

/** More than any limit below allows: what it gives back each second counts, too, where a busy machine sends slowly. */
const MOST_FRAMES = 30_000;
const BATCH = 50;
const MEMORY_BYTES = 150 * 1024 * 1024;
/** A ping takes milliseconds; one that takes this long was not slow, it was not served. */
const FROZEN_MS = 30_000;

let installation: TestInstallation;
let replica: Replica;
let subject: GatewaySubject;
let neighbour: LinkedAgent;

beforeAll(async () => {
  installation = await startInstallation();
  // Known to the replica from its beginning, and without an agent that the floods would reach.
  await installation.addCluster('nobody');
  replica = await installation.startReplica('gateway-a');
  subject = await subjectOf(installation, replica);
  neighbour = await ScriptedAgent.linked(subject);
});

afterAll(async () => {
  await neighbour?.[Symbol.asyncDispose]();
  await installation?.[Symbol.asyncDispose]();
});

type Port = 'link' | 'relay' | 'door';
/**
 * The frames of one step of a flood; `id` is a stream number that was never used. The first call shows the credentials: at the
 * Kubernetes API door the session of an unauthenticated peer would end with its first refusal.
 */
type Flood = (id: number, path: string, credentials: readonly Buffer[]) => Buffer;

const END_BOTH = FLAG.endHeaders | FLAG.endStream;
const call = (id: number, path: string, ...more: Buffer[]): Buffer =>
  http2Frame(FRAME.headers, FLAG.endHeaders, id, Buffer.concat([callHeaders(path), ...more]));
const isFirst = (id: number): boolean => id === 1;

/** Between replicas as many may be cancelled at once as there are tunnels, which is more than a test should send. */
const RAPID_RESET: readonly [string, string, Flood] = [
  'resets of streams just opened',
  'reset-flood',
  (id, path, credentials) => Buffer.concat([call(id, path, ...(isFirst(id) ? credentials : [])), rstStream(id)]),
];

const MANY_HEADERS: readonly [string, string, Flood] = [
  'more headers than a call has',
  'header-flood',
  (id, path) => call(id, path, Buffer.concat(Array.from({ length: 300 }, () => literal('x', 'a')))),
];

/**
 * At the Kubernetes API door Node speaks HTTP/2, and calls by one name what it ends a session for. Who shows no credentials there has a
 * budget of bytes and one of heads besides, and which is used up first is a matter of pace.
 */
const reasonsAt = (port: Port, name: string, reason: string): readonly string[] => {
  if (port !== 'door') return [reason];
  const own = /^(?:resets|SETTINGS with|CONTINUATION)/.test(name) ? 'protocol' : reason;
  return [...new Set([own, 'header-flood', 'unauthenticated-flood'])];
};

const EMPTY_DATA: readonly [string, string, Flood] = [
  'empty DATA',
  'invalid-frames',
  (id, path) => (isFirst(id) ? call(id, path) : http2Frame(FRAME.data, 0, 1)),
];

const FLOODS: readonly (readonly [string, string, Flood])[] = [
  ['PING, answers taken or not', 'ping-flood', () => http2Frame(FRAME.ping, 0, 0, Buffer.alloc(8))],
  ['SETTINGS', 'settings-flood', () => http2Frame(FRAME.settings, 0, 0)],
  [
    'SETTINGS with a hundred entries',
    'settings-flood',
    () => http2Frame(FRAME.settings, 0, 0, Buffer.alloc(600, Buffer.from([0, 4, 0, 1, 0, 0]))),
  ],
  EMPTY_DATA,
  [
    'CONTINUATION',
    'header-flood',
    (id, path) =>
      isFirst(id)
        ? http2Frame(FRAME.headers, 0, id, callHeaders(path))
        : http2Frame(FRAME.continuation, 0, 1, literal('x', 'a'.repeat(100))),
  ],
  [
    'headers that a few bytes blow up to megabytes',
    'header-flood',
    (id, path, credentials) =>
      isFirst(id)
        ? call(id, path, ...credentials, literal('x-bomb', 'a'.repeat(3_900), { indexed: true }))
        : call(id, path, Buffer.alloc(2_000, NEWEST_ENTRY)),
  ],
  MANY_HEADERS,
  [
    'headers that are malformed',
    'invalid-frames',
    (id, path) => http2Frame(FRAME.headers, END_BOTH, id, Buffer.concat([callHeaders(path), literal('UPPER', 'x')])),
  ],
];

interface Flooded {
  readonly sent: number;
  /** The longest that the neighbour's ping took meanwhile. */
  readonly slowestPingMs: number;
  readonly grownBytes: number;
}

/** Sends until the connection is ended, or everything is sent; all the while another agent pings. */
async function floodWith(port: Port, peer: RawHttp2, flood: Flood, path: string): Promise<Flooded> {
  const credentials = port === 'door' ? [literal('authorization', `Bearer ${subject.token}`)] : [];
  const before = process.memoryUsage.rss();
  const over = new AbortController();
  const pinging = pingUntil(over.signal);
  let grownBytes = 0;
  let sent = 0;
  for (; sent < MOST_FRAMES && !peer.ended; sent += BATCH) {
    const steps = Array.from({ length: BATCH }, (_, index) => flood(2 * (sent + index) + 1, path, credentials));
    await peer.send(...steps);
    // Lets the other end answer: that floods no queue there, which alone would end it.
    await delay(1);
    grownBytes = Math.max(grownBytes, process.memoryUsage.rss() - before);
  }
  over.abort();
  return { sent, slowestPingMs: await pinging, grownBytes };
}

async function pingUntil(signal: AbortSignal): Promise<number> {
  let slowestMs = 0;
  while (!signal.aborted) {
    const ms = await new Promise<number>((resolve, reject) => {
      neighbour.agent.http2.ping((error, durationMs) => (error ? reject(error) : resolve(durationMs)));
    });
    slowestMs = Math.max(slowestMs, ms);
    await delay(20);
  }
  return slowestMs;
}

async function dial(port: Port): Promise<RawHttp2> {
  const identities: Record<Port, KeyAndChain | null> = { link: subject.agent, relay: subject.gateway, door: null };
  return RawHttp2.dial(subject[port], subject.rootsPem, identities[port]);
}

/** How many sessions were ended at the port for any of the reasons. */
async function abuses(port: Port, ...reasons: readonly string[]): Promise<number> {
  const metric = await replica.registry.getSingleMetric('fairlead_gateway_http2_abuse_total')?.get();
  const door = port === 'door' ? 'kube-api' : port;
  const found = metric?.values.filter(
    ({ labels }) => labels['door'] === door && reasons.includes(String(labels['reason'])),
  );
  return found?.reduce((sum, { value }) => sum + value, 0) ?? 0;
}

describe.each<[Port, string, readonly (readonly [string, string, Flood])[]]>([
  ['link', TUNNEL_PATH, [RAPID_RESET, ...FLOODS]],
  ['relay', RELAY_PATH, FLOODS],
  // There a call may have more headers, and is answered before its body: what comes then is ignored.
  [
    'door',
    '/clusters/nobody/api',
    [RAPID_RESET, ...FLOODS.filter((each) => each !== MANY_HEADERS && each !== EMPTY_DATA)],
  ],
])('at the %s port', (port, path, floods) => {
  it.each(floods)('a flood of %s ends that session, and no other', async (name, own, flood) => {
    const reasons = reasonsAt(port, name, own);
    await using peer = await dial(port);
    const counted = await abuses(port, ...reasons);
    const { slowestPingMs, grownBytes } = await floodWith(port, peer, flood, path);
    await eventually(() => {
      if (!peer.ended) throw new Error('the session goes on');
    });
    // Node says why it ended a session after its peer may have seen the end.
    await expect.poll(() => abuses(port, ...reasons)).toBe(counted + 1);
    expect(slowestPingMs).toBeLessThan(FROZEN_MS);
    expect(grownBytes).toBeLessThan(MEMORY_BYTES);
    await stillWorks(subject, neighbour);
  });
});

it('an unauthenticated peer that holds more calls open than it can need is ended', async () => {
  await using peer = await RawHttp2.dial(subject.link, subject.rootsPem, null);
  const calls = Array.from({ length: 40 }, (_, index) =>
    call(2 * index + 1, '/fairlead.link.v1.AgentLinkService/Enrol'),
  );
  await peer.send(...calls);
  await peer.gone;
  expect(await abuses('link', 'stranger-streams')).toBe(1);
  await stillWorks(subject, neighbour);
});

const UNKNOWN_TYPE = 0xfa;
const SERVICE = '/fairlead.link.v1.AgentLinkService';
const whole = (id: number, path: string): Buffer => http2Frame(FRAME.headers, END_BOTH, id, callHeaders(path));
const FLOODED = ['unauthenticated-flood'] as const;
const ASKED = ['unauthenticated-calls', ...FLOODED] as const;

/** What the unauthenticated do, and what their sessions may be ended for: several budgets bound it, and which is used up first is a matter of pace. */
const UNAUTHENTICATED: readonly (readonly [string, readonly string[], (id: number) => Buffer])[] = [
  ['calls that there are not', ASKED, (id) => whole(id, '/nothing/here')],
  [
    'Discover',
    [...ASKED, 'stranger-streams'],
    (id) =>
      Buffer.concat([call(id, `${SERVICE}/Discover`), http2Frame(FRAME.data, FLAG.endStream, id, Buffer.alloc(5))]),
  ],
  ['Control that is refused', [...ASKED, 'stranger-streams'], (id) => whole(id, `${SERVICE}/Control`)],
  [
    'calls after its own GOAWAY',
    ['stream-flood', ...FLOODED],
    (id) =>
      Buffer.concat([
        ...(isFirst(id) ? [http2Frame(FRAME.goaway, 0, 0, Buffer.alloc(8))] : []),
        whole(id, '/nothing/here'),
      ]),
  ],
  ['PRIORITY', FLOODED, () => http2Frame(FRAME.priority, 0, 1, Buffer.from([0, 0, 0, 3, 1]))],
  ['WINDOW_UPDATE', FLOODED, () => http2Frame(FRAME.windowUpdate, 0, 0, Buffer.from([0, 0, 0, 1]))],
  ['frames that nobody knows', FLOODED, () => http2Frame(UNKNOWN_TYPE, 0, 0)],
  [
    'single bytes of DATA',
    FLOODED,
    (id) => (isFirst(id) ? call(id, `${SERVICE}/Enrol`) : http2Frame(FRAME.data, 0, 1, Buffer.alloc(1))),
  ],
];

describe('at the link port, without a certificate', () => {
  it.each(UNAUTHENTICATED)('a flood of %s ends that session, and no other', async (_, reasons, flood) => {
    const counted = (): Promise<number> => abuses('link', ...reasons);
    await using peer = await RawHttp2.dial(subject.link, subject.rootsPem, null);
    const before = await counted();
    const { slowestPingMs, grownBytes } = await floodWith('link', peer, flood, '');
    await peer.gone;
    expect(await counted()).toBe(before + 1);
    expect(slowestPingMs).toBeLessThan(FROZEN_MS);
    expect(grownBytes).toBeLessThan(MEMORY_BYTES);
    await stillWorks(subject, neighbour);
  });

  it('the byte at a time: reads count as frames do', async () => {
    await using peer = await RawHttp2.dial(subject.link, subject.rootsPem, null);
    const before = await abuses('link', 'unauthenticated-flood');
    const begun = http2Frame(FRAME.headers, 0, 1, Buffer.alloc(16_000));
    for (let sent = 0; sent < begun.length && !peer.ended; sent += 1) await peer.send(begun.subarray(sent, sent + 1));
    await peer.gone;
    expect(await abuses('link', 'unauthenticated-flood')).toBe(before + 1);
    await stillWorks(subject, neighbour);
  });
});

describe('a busy agent, and a busy replica', () => {
  let target: TcpTarget;
  let agent: RunningAgent;

  beforeAll(async () => {
    target = await startTcpTarget();
  });
  afterAll(async () => {
    await agent?.stop();
    await target?.[Symbol.asyncDispose]();
  });

  it('are not cut off for a thousand tunnels ended in order, a thousand broken off, and two hundred cut by their target', async () => {
    const cluster = await installation.addCluster('busy');
    agent = await installation.startAgent({
      replicas: [replica],
      apiPort: 1,
      cluster,
      allowTargets: ['127.0.0.1:*'],
      registry: new Registry(),
    });
    const sessionIds = (): string[] =>
      (replica.gateway.debugView() as { sessions: { clusterId: string; sessionId: string }[] }).sessions
        .filter(({ clusterId }) => clusterId === cluster.clusterId)
        .map(({ sessionId }) => sessionId);
    const before = sessionIds();
    await using relay = await dialRelay(subject);
    const value = { $typeName: 'fairlead.link.v1.Tcp' as const, host: '127.0.0.1', port: target.port };
    const open = openOf(cluster.clusterId, { target: { case: 'tcp', value } });
    const one = async (act: (tunnel: TunnelConnection) => void): Promise<void> => {
      const tunnel = relay.opener();
      tunnel.on('error', () => undefined);
      await tunnel.open(open, AbortSignal.timeout(20_000));
      act(tunnel);
      await new Promise((resolve) => tunnel.once('close', resolve));
    };
    const inOrder = (tunnel: TunnelConnection): void => void tunnel.resume().end('bye');
    const brokenOff = (tunnel: TunnelConnection): void => void tunnel.destroy();
    for (let round = 0; round < 40; round += 1) {
      await Promise.all(Array.from({ length: 50 }, (_, index) => one(index % 2 === 0 ? inOrder : brokenOff)));
    }
    // Of these the agent cancels the streams: more is on its way than it will ever take.
    target.handle = (socket) => void socket.once('data', () => socket.resetAndDestroy());
    const overfed = (tunnel: TunnelConnection): void => void tunnel.resume().write(Buffer.alloc(2 * 1024 ** 2));
    for (let round = 0; round < 4; round += 1) await Promise.all(Array.from({ length: 50 }, () => one(overfed)));
    target.handle = (socket) => void socket.pipe(socket);
    expect(sessionIds()).toEqual(before);
    await one(inOrder);
  }, 240_000);
});
