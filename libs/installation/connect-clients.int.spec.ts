import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import type { ClientEntry, ClusterEntry } from '@fairlead/contracts';
import { DEFAULT_CONNECT_LIMITS } from '@fairlead/gateway';
import { Registry } from '@fairlead/observability';
import { collectLines } from '@fairlead/observability/testing';
import { eventually, testAuthority } from '@fairlead/testing';
import { startTcpTarget, type TcpTarget } from '@fairlead/tunnel/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { collectCrashes, type Crashes } from './crashes.js';
import {
  clientCertificate,
  connectThrough,
  dialConnectDoor,
  readHead,
  type ClientCertificate,
  type ConnectAnswer,
  type ConnectCall,
} from './connect-client.js';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';
import type { GivenGrant } from './test-directory.js';

let installation: TestInstallation;
let target: TcpTarget;
let gateway: Replica;
/** Has no agent: an answer of 503 means that it was chosen. */
let other: ClusterEntry;
let foreign: ClusterEntry;
const OPEN = 'fairlead_gateway_open_connections';
const CONNECT = { door: 'connect' };
const AGENT_OPEN = 'fairlead_agent_tcp_open_connections';
const agentRegistry = new Registry();
const opened: ConnectAnswer[] = [];
const { logger, lines } = collectLines();
let crashes: Crashes;

beforeAll(async () => {
  crashes = collectCrashes();
  installation = await startInstallation();
  target = await startTcpTarget();
  other = await installation.addCluster('other');
  foreign = await installation.addCluster('foreign');
  const perIdentity = { ...DEFAULT_CONNECT_LIMITS.perIdentity, connections: 4 };
  const connectLimits = { total: 6, perIdentity, waitingPerIdentity: 2, halfClosedStallMs: 2_000 };
  gateway = await installation.startReplica('gateway-a', { connectLimits, logger });
  await installation.startAgent({
    replicas: [gateway],
    apiPort: 1,
    allowTargets: ['127.0.0.1:*', '*.hang.svc:80'],
    resolve: () => new Promise(() => undefined),
    registry: agentRegistry,
    logger,
  });
});

afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
  await target?.[Symbol.asyncDispose]();
  crashes[Symbol.dispose]();
});

beforeEach(() => {
  lines.length = 0;
  gateway.refusals.length = 0;
});

afterEach(async () => {
  for (const { plain } of opened.splice(0)) plain.resetAndDestroy();
  await eventually(() => {
    if (target.sockets.size > 0) throw new Error('connections to the target are left');
  });
});

async function through(certificate: ClientCertificate | undefined, call: Partial<ConnectCall> = {}) {
  const { authority } = installation;
  const answer = await connectThrough(gateway, { authority, certificate, target: `127.0.0.1:${target.port}`, ...call });
  opened.push(answer);
  return answer;
}

async function newClient(clusters: readonly ClusterEntry[] | null): Promise<[ClientEntry, ClientCertificate]> {
  const client = await installation.addClient(clusters);
  const certificate = await clientCertificate(installation.authority, client.clientId);
  // Until the replica has heard of it.
  await eventually(async () => {
    const { head, socket, plain } = await through(certificate, { target: 'x' });
    socket.destroy();
    plain.destroy();
    if (!head.includes('INVALID_ARGUMENT')) throw new Error(head);
  });
  lines.length = 0;
  return [client, certificate];
}

const reasonOf = ({ status, head }: ConnectAnswer): string =>
  `${status} ${/^Fairlead-Reason: (.*)$/m.exec(head)?.[1] ?? 'OK'}`;

async function metric(registry: Registry, name: string, labels: Record<string, string> = {}): Promise<number> {
  const found = (await registry.getSingleMetric(name)?.get())?.values.find((value) =>
    Object.entries(labels).every(([key, label]) => value.labels[key] === label),
  );
  return found?.value ?? 0;
}

describe('who may come', () => {
  it('a foreign certificate does not get past the handshake', async () => {
    const foreignAuthority = await testAuthority();
    const { clientId } = await installation.addClient(null);
    const expired = await clientCertificate(installation.authority, clientId, new Date(Date.now() - 1_000));
    for (const certificate of [undefined, await clientCertificate(foreignAuthority, clientId), expired]) {
      await expect(through(certificate)).rejects.toThrow(/ECONNRESET|no answer|alert|disconnected/i);
    }
    await eventually(() => expect(gateway.refusals.map(({ code }) => code)).toHaveLength(3));
    expect(gateway.refusals.every(({ code, door }) => code === 'CERTIFICATE_REFUSED' && door === 'connect')).toBe(true);
  });

  it('nor is anybody let in who is not a client, though certified by us', async () => {
    const { authority, cluster } = installation;
    const agent = await authority.agent(cluster.clusterId);
    const replica = await authority.gateway('gateway-a');
    const service = await authority.service('registration');
    for (const { privateKeyPem, chainPem } of [agent, replica, service]) {
      const answer = await through({ key: privateKeyPem, cert: chainPem });
      expect(reasonOf(answer)).toBe('403 CERTIFICATE_REFUSED');
    }
    const unknown = await clientCertificate(authority, '00000000-0000-4000-8000-000000000000');
    expect(reasonOf(await through(unknown))).toBe('403 CERTIFICATE_REFUSED');
    expect(gateway.refusals.map(({ door }) => door)).toEqual(['connect', 'connect', 'connect', 'connect']);
  });

  it.each<[string, string, (client: ClientEntry) => Promise<void>]>([
    ['is deleted', 'CERTIFICATE_REFUSED', (client) => installation.removeClient(client)],
    [
      'may not reach the cluster any more',
      'FORBIDDEN',
      (client) => installation.putClient({ ...client, clusterIds: [] }),
    ],
  ])('of a client that %s, what it has open is broken off, and nothing of others', async (_, code, shutOut) => {
    const [client, certificate] = await newClient([installation.cluster]);
    const [, stays] = await newClient([installation.cluster]);
    const { socket, plain } = await through(certificate);
    const { socket: other } = await through(stays);
    const broken = once(plain, 'close');
    await shutOut(client);
    await broken;
    expect(socket.readableEnded).toBe(false);
    expect(reasonOf(await through(certificate))).toBe(`403 ${code}`);
    other.write('still');
    expect(String((await once(other, 'data'))[0])).toBe('still');
    const line = (event: string): unknown => lines.find((each) => each.event === event);
    expect(line('access.ended')).toMatchObject({ door: 'connect', who: client.clientId, code });
    await eventually(() => expect(line('connect.closed')).toMatchObject({ clientId: client.clientId, cause: code }));
  });
});

describe('which cluster', () => {
  it('is the only one, without being named', async () => {
    const [, certificate] = await newClient([installation.cluster]);
    expect(reasonOf(await through(certificate))).toBe('200 OK');
    expect(reasonOf(await through(certificate, { serverName: 'door.example' }))).toBe('200 OK');
  });

  it('is asked for when there are several', async () => {
    const [, certificate] = await newClient([installation.cluster, other]);
    const answer = await through(certificate);
    expect(reasonOf(answer)).toBe('407 UNAUTHENTICATED');
    expect(answer.head).toMatch(/^Proxy-Authenticate: Basic /m);
    expect(answer.head).not.toContain('Retry-After');
  });

  it('is the first label of the server name, then the proxy user', async () => {
    const [, certificate] = await newClient(null);
    const { name } = installation.cluster;
    for (const [call, expected] of [
      [{ serverName: `${name}.door.example` }, '200 OK'],
      [{ serverName: `${name.toUpperCase()}.door.example`, user: 'other' }, '200 OK'],
      [{ serverName: 'other.door.example', user: name }, '503 AGENT_OFFLINE'],
      [{ serverName: 'door.example', user: name }, '200 OK'],
      [{ user: 'other' }, '503 AGENT_OFFLINE'],
      [{ user: name }, '200 OK'],
    ] as const) {
      const answer = await through(certificate, call);
      expect([call, reasonOf(answer)]).toEqual([call, expected]);
      // That cluster never had an agent: there is nothing to wait for.
      expect(answer.head).not.toContain('Retry-After');
    }
  });

  it('is never one it may not reach, and nobody learns whether there is such a one', async () => {
    const [, certificate] = await newClient([installation.cluster, other]);
    const answers = [];
    for (const user of [foreign.name, 'unknown', '..', 'Demo']) {
      const answer = await through(certificate, { user });
      expect(reasonOf(answer)).toBe('403 FORBIDDEN');
      answers.push((await text(answer.socket)).replace(user, 'X'));
    }
    expect(new Set(answers).size).toBe(1);
    expect(reasonOf(await through(certificate, { serverName: `${foreign.name}.door.example` }))).toBe(
      '407 UNAUTHENTICATED',
    );
    const [, nowhere] = await newClient([]);
    expect(reasonOf(await through(nowhere))).toBe('403 FORBIDDEN');
  });

  it('is not reached while it is locked down', async () => {
    const [, certificate] = await newClient([installation.cluster]);
    const { socket } = await through(certificate);
    const broken = new Promise((resolve) => socket.on('error', resolve).once('close', resolve).resume());
    await installation.lockDown(installation.cluster, 'an incident');
    await broken;
    const answer = await through(certificate);
    const told = [reasonOf(answer), await text(answer.socket)];
    await installation.liftLockdown(installation.cluster);
    expect(told).toEqual(['403 FORBIDDEN', expect.stringContaining('is locked down: an incident')]);
    await eventually(async () => expect(reasonOf(await through(certificate))).toBe('200 OK'));
  });

  it.each(['Bearer abc', 'Basic', 'Basic !!!', 'Basic OnBhc3M=', `Basic ${'QUFB'.repeat(200)}`])(
    'cannot be read from %s',
    async (value) => {
      const [, certificate] = await newClient([installation.cluster]);
      const answer = await through(certificate, { headers: [`Proxy-Authorization: ${value}`] });
      expect(reasonOf(answer)).toBe('400 INVALID_ARGUMENT');
    },
  );
});

describe('what is granted to a client', () => {
  const grantTo = ({ name }: ClientEntry, ...grants: GivenGrant[]) =>
    installation.putGrants({ kind: 'client', name }, ...grants);
  /** Doors hear of a grant a moment later. */
  const until = (certificate: ClientCertificate, reason: string, call: Partial<ConnectCall> = {}) =>
    eventually(async () => {
      const answer = await through(certificate, call);
      if (reasonOf(answer) !== reason) throw new Error(answer.head);
      return answer;
    });

  it('is what it may reach, in the clusters that are meant, and nothing beside it', async () => {
    const [client, certificate] = await newClient([]);
    const targets = [`127.0.0.1:${target.port}`];
    await grantTo(client, { groups: [], clusters: { names: [installation.cluster.name] }, targets });
    await until(certificate, '200 OK');
    const beside = await through(certificate, { target: '127.0.0.1:1' });
    expect([reasonOf(beside), await text(beside.socket)]).toEqual([
      '403 FORBIDDEN',
      expect.stringMatching(/127\.0\.0\.1:1 in the cluster .*no grant holds this target/) as string,
    ]);
    expect(reasonOf(await through(certificate, { user: 'other' }))).toBe('403 FORBIDDEN');
    await grantTo(client);
    await until(certificate, '403 FORBIDDEN');
  });

  it('is cut off when it ends, by the clock, and nobody else’s is', async () => {
    const [client, certificate] = await newClient([]);
    const [, stays] = await newClient([installation.cluster]);
    const endsMs = Date.now() + 10_000;
    await grantTo(client, { groups: [], targets: ['127.0.0.0/8:*'], expiresAt: new Date(endsMs).toISOString() });
    const { plain } = await until(certificate, '200 OK', { user: installation.cluster.name });
    const { socket } = await through(stays);
    await once(plain, 'close');
    expect(Date.now()).toBeGreaterThanOrEqual(endsMs);
    socket.write('still');
    expect(String((await once(socket, 'data'))[0])).toBe('still');
  });

  it('may be a denial, which wins over the clusters that it was registered with', async () => {
    const [client, certificate] = await newClient([installation.cluster]);
    const { plain } = await through(certificate);
    const broken = once(plain, 'close');
    await grantTo(client, { effect: 'deny' });
    await broken;
    const answer = await until(certificate, '403 FORBIDDEN');
    expect(await text(answer.socket)).toContain('a grant that denies means this client');
  });
});

describe('what is asked', () => {
  it.each([
    ['another method', 'GET / HTTP/1.1\r\nHost: x\r\n\r\n', 405],
    ['another version', 'CONNECT 127.0.0.1:80 HTTP/1.0\r\n\r\n', 400],
    ['a body', 'CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello', 400],
    ['chunks', 'CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 400],
    ['nonsense', '\x16\x03\x01\x02\x00\x01\x00\x01\r\n\r\n', 400],
    ['a head without measure', `CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`, 431],
  ])('is refused if it is %s', async (_, head, status) => {
    const [, certificate] = await newClient([installation.cluster]);
    const { socket, plain } = await dialConnectDoor(gateway, { authority: installation.authority, certificate });
    opened.push({ status, head, socket, plain });
    socket.write(head);
    const answer = await readHead(socket);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).toMatch(/^Fairlead-Reason: [A-Z_]+$/m);
    expect(answer.includes('Allow: CONNECT')).toBe(status === 405);
    await once(socket.resume(), 'end');
  });

  it('is told in one line of the log, without the header that names the cluster', async () => {
    const [client, certificate] = await newClient(null);
    const { socket } = await through(certificate, { user: 'demo' });
    socket.end('hello');
    expect(await text(socket)).toBe('hello');
    await eventually(() =>
      expect(lines.map(({ event }) => event)).toEqual(expect.arrayContaining(['connect.closed', 'tcp.closed'])),
    );
    const line = lines.find(({ event }) => event === 'connect.closed');
    expect(line).toMatchObject({
      clientId: client.clientId,
      clusterId: installation.cluster.clusterId,
      target: `127.0.0.1:${target.port}`,
      cause: 'COMPLETE',
      via: 'own',
      bytesUp: 5,
      bytesDown: 5,
    });
    const agentLine = lines.find(({ event }) => event === 'tcp.closed');
    expect(agentLine).toMatchObject({ tunnelId: line?.['tunnelId'], cause: 'COMPLETE', bytesUp: 5, bytesDown: 5 });
    expect(JSON.stringify(lines)).not.toContain(btoa('demo:ignored').slice(0, 8));
    expect(await metric(agentRegistry, 'fairlead_agent_tcp_connections_total', { outcome: 'ok' })).toBeGreaterThan(0);
    expect(
      await metric(gateway.registry, 'fairlead_gateway_bytes_total', { door: 'connect', direction: 'up' }),
    ).toBeGreaterThan(4);
  });
});

describe('how much', () => {
  it('of one client, and of all, is refused at once beyond the limit', async () => {
    const [, first] = await newClient([installation.cluster]);
    const [, second] = await newClient([installation.cluster]);
    for (let count = 0; count < 4; count += 1) expect(reasonOf(await through(first))).toBe('200 OK');
    const over = await through(first);
    expect(reasonOf(over)).toBe('429 RATE_LIMITED');
    expect(over.head).toContain('Retry-After: 1');
    expect(reasonOf(await through(second))).toBe('200 OK');
    expect(reasonOf(await through(second))).toBe('200 OK');
    expect(reasonOf(await through(second))).toBe('503 UNAVAILABLE');
    expect(await metric(gateway.registry, OPEN, CONNECT)).toBe(6);
    const held = opened.find(({ status }) => status === 200);
    held?.plain.resetAndDestroy();
    await eventually(async () => expect(reasonOf(await through(second))).toBe('200 OK'));
  });

  it('a client that vanishes while its targets are dialled leaves nothing behind', async () => {
    const [, certificate] = await newClient([installation.cluster]);
    const { authority } = installation;
    const dial = async (): Promise<ConnectAnswer> => {
      const dialled = await dialConnectDoor(gateway, { authority, certificate });
      dialled.socket.on('error', () => undefined);
      dialled.socket.write('CONNECT a.hang.svc:80 HTTP/1.1\r\nHost: x\r\n\r\n');
      return dialled;
    };
    const hanging = [await dial(), await dial()];
    await eventually(async () => {
      const answer = await through(certificate);
      answer.plain.resetAndDestroy();
      expect(reasonOf(answer)).toBe('429 RATE_LIMITED');
    });
    for (const { plain } of hanging) plain.resetAndDestroy();
    await eventually(async () => expect(reasonOf(await through(certificate))).toBe('200 OK'));
    await eventually(async () => {
      const gone = lines.filter((line) => line.event === 'tcp.refused' && line['cause'] === 'TUNNEL_RESET');
      expect(gone).toHaveLength(2);
      expect(await metric(agentRegistry, 'fairlead_agent_tcp_open_connections')).toBe(1);
    });
  });
});

it('a head must come in time, and a connection that has its target may be silent for as long as it likes', async () => {
  const [, certificate] = await newClient([installation.cluster]);
  const { authority } = installation;
  const { socket } = await through(certificate);
  const late = ['', 'CONNECT 127.0.0.1:80 HTTP/1.1\r\nHo'].map(async (begun) => {
    const dialled = await dialConnectDoor(gateway, { authority, certificate });
    dialled.socket.write(begun);
    return text(dialled.socket);
  });
  const answers = await Promise.all(late);
  expect(answers[1]).toMatch(/^HTTP\/1\.1 408 [^]*Fairlead-Reason: DEADLINE_EXCEEDED/);
  socket.end('hello');
  expect(await text(socket)).toBe('hello');
});

it('of clients that come and vanish at any moment, none is kept', async () => {
  const connectLimits = { total: 100, waitingPerIdentity: 100, halfClosedStallMs: 1_000 };
  const replica = await installation.startReplica('gateway-b', { connectLimits });
  const [, certificate] = await newClient([installation.cluster]);
  const { authority } = installation;
  const vanish = async (): Promise<void> => {
    const { socket, plain } = await dialConnectDoor(replica, { authority, certificate });
    socket.on('error', () => undefined);
    socket.write(`CONNECT 127.0.0.1:${target.port} HTTP/1.1\r\nHost: x\r\n\r\n`);
    socket.write(randomBytes(200_000));
    await delay(Math.random() * 30);
    if (Math.random() < 0.5) plain.resetAndDestroy();
    else {
      socket.destroy();
      plain.destroy();
    }
  };
  for (let round = 0; round < 15; round += 1) await Promise.all(Array.from({ length: 20 }, () => vanish()));
  await eventually(async () => expect(await metric(replica.registry, OPEN, CONNECT)).toBe(0), { timeoutMs: 60_000 });
  await eventually(async () => expect(await metric(agentRegistry, AGENT_OPEN)).toBe(0));
});

it('a replica that stops takes no new connection and lets an open one finish', async () => {
  const [, certificate] = await newClient([installation.cluster]);
  const { socket } = await through(certificate);
  const stopping = gateway.stop();
  await eventually(() => expect(through(certificate)).rejects.toMatchObject({ code: 'ECONNREFUSED' }));
  socket.end('bye');
  expect(await text(socket)).toBe('bye');
  await stopping;
});

it('nothing of all that was left unhandled', () => expect(crashes.seen).toEqual([]));
