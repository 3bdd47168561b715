import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { eventually } from '@fairlead/testing';
import { readAll, sha256, startTcpTarget, type TcpTarget } from '@fairlead/tunnel/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { collectCrashes, type Crashes } from './crashes.js';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';
import type { RunningAgent } from './test-agent.js';

const METADATA = { host: '169.254.169.254', port: 80 };

let installation: TestInstallation;
let target: TcpTarget;
let elsewhere: TcpTarget;
/** Has rules; b has none. */
let a: Replica;
let b: Replica;
let agent: RunningAgent;
const opened: Socket[] = [];
let crashes: Crashes;

beforeAll(async () => {
  crashes = collectCrashes();
  installation = await startInstallation();
  [target, elsewhere] = await Promise.all([startTcpTarget(), startTcpTarget()]);
  const rules = [`127.0.0.1:${target.port}`, '0.0.0.0/0:*'];
  [a, b] = await Promise.all([
    installation.startReplica('gateway-a', {
      allowEgress: [...rules.map((rule) => `demo@${rule}`), `lost@${rules[0]}`],
      egressLimits: { perIdentity: { connections: 20, opensPerSecond: 500, heldBytes: 64 * 1024 ** 2 } },
    }),
    installation.startReplica('gateway-b'),
  ]);
  agent = await agentOf({ replicas: [a, b], links: 2 });
});

afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
  await Promise.all([target, elsewhere].map((each) => each?.[Symbol.asyncDispose]()));
  crashes[Symbol.dispose]();
});

beforeEach(() => {
  target.handle = (socket) => void socket.pipe(socket);
});

afterEach(async () => {
  for (const socket of opened.splice(0)) socket.destroy();
  for (const socket of target.sockets) socket.destroy();
  await eventually(() => {
    if (target.sockets.size > 0) throw new Error('connections to the target are left');
  });
});

function agentOf(
  options: { replicas: Replica[]; links?: number } & Partial<Parameters<TestInstallation['startAgent']>[0]>,
) {
  const egress = [{ host: '127.0.0.1', port: target.port }, { host: '127.0.0.1', port: elsewhere.port }, METADATA];
  return installation.startAgent({ apiPort: 1, egress, ...options });
}

/** Somebody in the cluster connects to the agent's port for the first upstream, or another one. */
async function leave(from: RunningAgent = agent, upstream = 0): Promise<Socket> {
  const port = from.egressPorts[upstream] ?? 0;
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  socket.on('error', () => undefined);
  opened.push(socket);
  // One that is refused at once may be gone before it is known to be there.
  await new Promise<void>((resolve) => socket.once('connect', resolve).once('close', () => resolve()));
  return socket;
}

/** The code of what broke a connection, or what came if nothing did. */
async function fate(socket: Socket): Promise<string> {
  const reason = (error: NodeJS.ErrnoException): string => error.code ?? '';
  return socket.errored ? reason(socket.errored) : text(socket).catch(reason);
}

const refusals = (): string[] => a.refusals.filter(({ door }) => door === 'egress').map(({ code }) => code);

describe('a connection out of a cluster', () => {
  it('carries bytes exactly, both ways', async () => {
    const socket = await leave();
    const answer = readAll(socket);
    const sent = randomBytes(3_000_000);
    socket.end(sent);
    expect(sha256(await answer)).toBe(sha256(sent));
  });

  it('carries on in one direction when the other has ended', async () => {
    const received = new Promise<Buffer>((resolve, reject) => {
      target.handle = (socket) => {
        socket.end('bye');
        readAll(socket).then(resolve, reject);
      };
    });
    const socket = await leave();
    expect(await text(socket)).toBe('bye');
    const sent = randomBytes(1024 * 1024);
    socket.end(sent);
    expect(sha256(await received)).toBe(sha256(sent));
  });

  it('hears a server that speaks first', async () => {
    target.handle = (socket) => void socket.end('SSH-2.0-banner\r\n');
    for (let round = 0; round < 20; round += 1) {
      const socket = await leave();
      expect(await text(socket)).toBe('SSH-2.0-banner\r\n');
      socket.end();
    }
  });

  it('that breaks off at one end breaks off at the other', async () => {
    target.handle = (socket) => void socket.once('data', () => socket.resetAndDestroy());
    const broken = await leave();
    broken.write('x');
    expect(await fate(broken)).toBe('ECONNRESET');
    let failed = false;
    target.handle = (socket) => void socket.resume().once('error', () => (failed = true));
    const breaking = await leave();
    await eventually(() => expect(target.sockets.size).toBe(1));
    breaking.resetAndDestroy();
    await eventually(() => expect([target.sockets.size, failed]).toEqual([0, true]));
  });

  it('that nobody reads holds up no other', async () => {
    target.handle = (socket) => void socket.write(randomBytes(64 * 1024 * 1024));
    const stalled = await leave();
    await once(stalled, 'data');
    stalled.pause();
    target.handle = (socket) => void socket.pipe(socket);
    const socket = await leave();
    let answered = 0;
    for (let round = 0; round < 100; round += 1) {
      socket.write('ping');
      answered += String((await once(socket, 'data'))[0]) === 'ping' ? 1 : 0;
    }
    expect(answered).toBe(100);
  });

  it('is counted and shown while it goes', async () => {
    const socket = await leave();
    socket.write('hello');
    await once(socket, 'data');
    expect(a.gateway.debugView()).toMatchObject({
      connections: [{ door: 'egress', clusterId: installation.cluster.clusterId, target: `127.0.0.1:${target.port}` }],
    });
    const metrics = await a.registry.metrics();
    expect(metrics).toMatch(/fairlead_gateway_open_connections\{door="egress"\} 1/);
    expect(metrics).toMatch(/fairlead_gateway_bytes_total\{door="egress",direction="up"\} [1-9]/);
  });
});

describe('what the rules of the control plane do not allow', () => {
  it.each([
    ['another port of an allowed host, which is loopback', 1],
    ['a metadata service, whatever a wide rule says', 2],
  ])('%s: refused, told, and never dialled', async (_, upstream) => {
    const before = refusals().length;
    expect(await fate(await leave(agent, upstream))).toBe('ECONNRESET');
    expect(refusals().slice(before)).toEqual(['TARGET_REFUSED']);
    expect(a.refusals.at(-1)).toMatchObject({ cluster: 'demo', clusterId: installation.cluster.clusterId });
    expect(elsewhere.made()).toBe(0);
  });

  it('is everything, for a cluster without a rule', async () => {
    const cluster = await installation.addCluster('other');
    const other = await agentOf({ replicas: [a], cluster });
    const made = target.made();
    expect(await fate(await leave(other))).toBe('ECONNRESET');
    expect(refusals().at(-1)).toBe('TARGET_REFUSED');
    expect(target.made()).toBe(made);
    await other.stop();
  });

  it('is everything, where the replica has no rules: the agent does not even ask', async () => {
    const cluster = await installation.addCluster('asks-nobody');
    const other = await agentOf({ replicas: [b], cluster });
    expect(await fate(await leave(other))).toBe('ECONNRESET');
    expect(b.refusals).toEqual([]);
    await other.stop();
  });
});

describe('a cluster that loses its link', () => {
  it('by revocation loses what goes out of it, and no other does', async () => {
    const cluster = await installation.addCluster('lost');
    const lost = await agentOf({ replicas: [a], cluster });
    const [ending, kept] = [await leave(lost), await leave()];
    for (const socket of [ending, kept]) {
      socket.write('x');
      await once(socket, 'data');
    }
    await installation.revokeCluster(cluster);
    expect(await fate(ending)).toBe('ECONNRESET');
    kept.write('still');
    expect(String((await once(kept, 'data'))[0])).toBe('still');
    expect(await fate(await leave(lost))).toBe('ECONNRESET');
    await lost.stop();
  });
});

it('a cluster has no more connections at once than its limit, and has others again when they end', async () => {
  const sockets = await Promise.all(Array.from({ length: 20 }, () => leave()));
  for (const socket of sockets) {
    socket.write('x');
    await once(socket, 'data');
  }
  expect(await fate(await leave())).toBe('ECONNRESET');
  expect(await a.registry.metrics()).toMatch(/fairlead_gateway_egress_connections_total\{outcome="RATE_LIMITED"\} 1/);
  for (const socket of sockets) socket.end();
  await eventually(async () => {
    const socket = await leave();
    socket.end('again');
    expect(await fate(socket)).toBe('again');
  });
});

it('nothing of all that was left unhandled', () => expect(crashes.seen).toEqual([]));
