import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { DEFAULT_CONNECT_LIMITS, DEFAULT_KUBE_API_LIMITS } from '@fairlead/gateway';
import type { Registry } from '@fairlead/observability';
import { eventually } from '@fairlead/testing';
import {
  startRecordingApiServer,
  startTcpTarget,
  type RecordingApiServer,
  type TcpTarget,
} from '@fairlead/tunnel/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { clientCertificate, connectThrough, type ClientCertificate, type ConnectAnswer } from './connect-client.js';
import { callDoor, type DoorAnswer } from './kube-client.js';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';

const PER_SECOND = 5;
const BURST = 2 * PER_SECOND;
const MEBIBYTE = 1024 ** 2;

let installation: TestInstallation;
let api: RecordingApiServer;
let target: TcpTarget;
let gateway: Replica;
const opened: ConnectAnswer[] = [];

beforeAll(async () => {
  installation = await startInstallation();
  api = await startRecordingApiServer(installation.authority);
  target = await startTcpTarget();
  const perIdentity = { connections: 100, opensPerSecond: PER_SECOND, heldBytes: MEBIBYTE };
  const connectLimits = { perIdentity, perCluster: { ...DEFAULT_CONNECT_LIMITS.perCluster, connections: 60 } };
  const kubeApiLimits = {
    perIdentity: { ...DEFAULT_KUBE_API_LIMITS.perIdentity, connections: 3, opensPerSecond: PER_SECOND },
  };
  gateway = await installation.startReplica('gateway-a', { connectLimits, kubeApiLimits, metricsClusters: 1 });
  await installation.startAgent({ replicas: [gateway], apiPort: api.port, allowTargets: ['127.0.0.1:*'] });
});

afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
  await target?.[Symbol.asyncDispose]();
});

const echo: TcpTarget['handle'] = (socket) => void socket.pipe(socket);

afterEach(async () => {
  target.handle = echo;
  await closeAll();
});

async function closeAll(): Promise<void> {
  for (const { plain } of opened.splice(0)) plain.resetAndDestroy();
  await eventually(() => {
    if (target.sockets.size > 0) throw new Error('connections to the target are left');
  });
}

async function through(certificate: ClientCertificate): Promise<ConnectAnswer> {
  const { authority } = installation;
  const answer = await connectThrough(gateway, { authority, certificate, target: `127.0.0.1:${target.port}` });
  opened.push(answer);
  return answer;
}

async function newClient(): Promise<ClientCertificate> {
  const { clientId } = await installation.addClient([installation.cluster]);
  // Until the replica has heard of it; what is refused before that is not counted.
  const certificate = await clientCertificate(installation.authority, clientId);
  await eventually(async () => {
    if ((await through(certificate)).status === 403) throw new Error('not known yet');
  });
  return certificate;
}

async function valueOf(registry: Registry, name: string, labels: Record<string, string>): Promise<number> {
  const found = (await registry.getSingleMetric(name)?.get())?.values.find((value) =>
    Object.entries(labels).every(([key, label]) => value.labels[key] === label),
  );
  return found?.value ?? 0;
}

const refusals = (door: string): Promise<number> =>
  valueOf(gateway.registry, 'fairlead_gateway_refusals_total', { door, code: 'RATE_LIMITED' });

describe('the CONNECT door', () => {
  it('answers 429 at once to a client that opens too fast, and serves others as before', async () => {
    const [fast, other] = [await newClient(), await newClient()];
    const before = await refusals('connect');
    const answers: ConnectAnswer[] = [];
    const refusedOnes = (): ConnectAnswer[] => answers.filter(({ status }) => status === 429);
    // However slow the machine is, in the end it opens more than so often a second.
    while (refusedOnes().length === 0 && answers.length < 10 * BURST) {
      // Of one try only: together they would be more than the cluster may have at once.
      await closeAll();
      answers.push(...(await Promise.all(Array.from({ length: BURST + 30 }, () => through(fast)))));
    }
    const refused = refusedOnes();
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(BURST - 1);
    expect(refused.length).toBeGreaterThan(0);
    for (const { head } of refused) expect(head).toMatch(/^Fairlead-Reason: RATE_LIMITED\r\n[^]*^Retry-After: 1$/m);
    expect(await refusals('connect')).toBe(before + refused.length);
    expect((await through(other)).status).toBe(200);
    await eventually(async () => expect((await through(fast)).status).toBe(200));
  });

  it('answers 429 while what a client does not take is too much, and forgets it afterwards', async () => {
    const [greedy, other] = [await newClient(), await newClient()];
    // More than the kernels on the way can take: what is held falls for a moment whenever they do.
    const plenty = Buffer.alloc(32 * MEBIBYTE);
    target.handle = (socket) => void socket.write(plenty);
    const stalled = [await through(greedy), await through(greedy), await through(greedy)];
    for (const { socket } of stalled) socket.pause();
    await eventually(async () => {
      const answer = await through(greedy);
      expect(answer.status).toBe(429);
      expect(await text(answer.socket)).toMatch(/^RATE_LIMITED: the connections of this client hold \d+ MiB/);
      const held = await valueOf(gateway.registry, 'fairlead_gateway_held_bytes', { door: 'connect' });
      expect(held).toBeGreaterThan(MEBIBYTE);
    });
    expect((await through(other)).status).toBe(200);
    for (const { plain } of opened.splice(0)) plain.resetAndDestroy();
    target.handle = echo;
    await eventually(async () => expect((await through(greedy)).status).toBe(200));
  });
});

describe('the Kubernetes API door', () => {
  const call = (token: string, path = '/clusters/demo/api'): Promise<DoorAnswer> =>
    callDoor(installation, gateway, { token, path });

  async function newToken(user: string): Promise<string> {
    const token = await installation.addToken({ user, groups: [] });
    await eventually(async () => expect((await call(token, '/clusters/none/')).status).toBe(404));
    return token;
  }

  it('answers a Status 429 at once to a user who asks too fast, and serves others as before', async () => {
    const [fast, other] = [await newToken('fast'), await newToken('other')];
    const before = await refusals('kube-api');
    const answers: DoorAnswer[] = [];
    // However slow the machine is, in the end it asks more than so often a second.
    while (answers.at(-1)?.status !== 429 && answers.length < 50 * BURST) answers.push(await call(fast));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(1);
    for (const { headers, body } of refused) {
      expect(headers['retry-after']).toBe('1');
      expect(JSON.parse(body)).toMatchObject({ kind: 'Status', code: 429, reason: 'TooManyRequests' });
    }
    expect(await refusals('kube-api')).toBe(before + refused.length);
    expect((await call(other)).status).toBe(200);
  });

  it('answers 429 to the request beyond those a user may have at once', async () => {
    const [many, other] = [await newToken('many'), await newToken('another')];
    const waiting: (() => void)[] = [];
    api.handle = (request, response) => {
      if (request.url === '/slow') waiting.push(() => response.end('{}'));
      else response.end('{}');
    };
    const slow = [1, 2, 3].map(() => call(many, '/clusters/demo/slow'));
    await eventually(() => expect(waiting).toHaveLength(3));
    expect([(await call(many)).status, (await call(other)).status]).toEqual([429, 200]);
    for (const answer of waiting) answer();
    expect((await Promise.all(slow)).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await call(many)).status).toBe(200);
  });
});

describe('metrics', () => {
  const ofCluster = (name: string, labels: Record<string, string>): Promise<number> =>
    valueOf(gateway.registry, `fairlead_gateway_cluster_${name}`, labels);

  it('count bytes while they go, by door and by cluster, and those of clusters beyond the first as "other"', async () => {
    const certificate = await newClient();
    const up = { door: 'connect', direction: 'up' };
    const bytes = (): Promise<number> => valueOf(gateway.registry, 'fairlead_gateway_bytes_total', up);
    const cluster = installation.cluster.clusterId;
    // The new client's own, once those of the tests before are gone.
    const openBefore = 1;
    await eventually(async () => expect(await ofCluster('open_connections', { cluster })).toBe(openBefore));
    const { socket } = await through(certificate);
    let taken = 0;
    socket.on('data', (chunk: Buffer) => (taken += chunk.length));
    const ended = once(socket, 'end');
    const before = [await bytes(), await ofCluster('bytes_total', { cluster, direction: 'down' })];
    socket.resume().write(Buffer.alloc(50_000));
    await eventually(async () => {
      expect(await bytes()).toBe((before[0] ?? 0) + 50_000);
      expect(await ofCluster('bytes_total', { cluster, direction: 'down' })).toBe((before[1] ?? 0) + 50_000);
    });
    expect(await ofCluster('open_connections', { cluster })).toBe(openBefore + 1);
    expect(await ofCluster('links', { cluster })).toBe(1);
    expect(await ofCluster('tunnels_in_use', { cluster })).toBeGreaterThanOrEqual(1);
    expect(await gateway.registry.getSingleMetricAsString('fairlead_gateway_open_seconds')).toMatch(
      /_count\{target="tcp",via="own"\} [1-9]/,
    );
    socket.end();
    await ended;
    expect(taken).toBe(50_000);
    await eventually(async () => expect(await ofCluster('open_connections', { cluster })).toBe(openBefore));
    expect(await bytes()).toBe((before[0] ?? 0) + 50_000);

    const second = await installation.addCluster('second');
    await installation.startAgent({ replicas: [gateway], apiPort: api.port, cluster: second });
    await eventually(async () => expect(await ofCluster('links', { cluster: 'other' })).toBe(1));
  });
});
