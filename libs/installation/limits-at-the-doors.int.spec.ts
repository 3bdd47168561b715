import { once } from 'node:events';
import { connect as netConnect } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { eventually } from '@fairlead/testing';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { clientCertificate, connectThrough, type ClientCertificate } from './connect-client.js';
import { callDoor, untilLetIn } from './kube-client.js';
import { rawDoor } from './raw-client.js';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';

/** Of one user, in this test. */
const CONNECTIONS = 3;
/** Handshaking from one address, at the CONNECT door of this test: half of 550, with 1,100 for clients. */
const LIMIT = 275;
/** CONNECTs of one client, in this test, and those that are told that they are too many. */
const OF_CLIENT = 3 + 256;
/** Handshakes at once. */
const BATCH = 50;
/** Who says nothing has to be there until all of them are; by default 10 s. */
const HEADERS_TIMEOUT_MS = 60_000;

let installation: TestInstallation;
let replica: Replica;
const sockets: TLSSocket[] = [];

beforeAll(async () => {
  installation = await startInstallation();
  const perIdentity = { connections: 3, opensPerSecond: 1_000, heldBytes: 1024 ** 3 };
  const connectLimits = { total: 100, perIdentity, headersTimeoutMs: HEADERS_TIMEOUT_MS };
  const limits = { connectLimits, kubeApiLimits: { connectionsPerUser: CONNECTIONS } };
  replica = await installation.startReplica('gateway-a', limits);
  await untilLetIn(installation, replica);
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
});

interface Asking {
  readonly socket: TLSSocket;
  readonly heard: () => string;
  ask(): void;
}

async function asking(token: string): Promise<Asking> {
  const socket = await rawDoor(installation, replica);
  sockets.push(socket);
  let heard = '';
  socket.on('data', (chunk: Buffer) => (heard += chunk.toString('latin1')));
  const ask = (): void =>
    void socket.write(`GET /clusters/demo/api HTTP/1.1\r\nHost: d\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  ask();
  await eventually(() => expect(heard).toContain('\r\n\r\n'));
  return { socket, heard: () => heard, ask };
}

it('a user has so many connections at the Kubernetes API door; one more is a Status that says what to do, and others come in', async () => {
  const [many, other] = await Promise.all(['many', 'other'].map((user) => installation.addToken({ user, groups: [] })));
  if (!many || !other) throw new Error('no tokens');
  for (const token of [many, other]) {
    await eventually(async () => expect((await callDoor(installation, replica, { token })).status).toBe(503));
  }
  const held = [await asking(many), await asking(many), await asking(many)];
  for (const { heard } of held) expect(heard()).toMatch(/^HTTP\/1\.1 503/);
  const refused = await asking(many);
  expect(refused.heard()).toMatch(/^HTTP\/1\.1 429 /);
  expect(refused.heard()).toMatch(/retry-after: 1/i);
  expect(refused.heard()).toMatch(/"kind":"Status"[^]*"reason":"TooManyRequests"/);
  expect(refused.heard()).toContain('share them (HTTP/2');
  await eventually(() => expect(refused.socket.destroyed).toBe(true));
  expect((await asking(other)).heard()).toMatch(/^HTTP\/1\.1 503/);
  held[0]?.ask();
  await eventually(() => expect(held[0]?.heard().match(/HTTP\/1\.1 503/g)).toHaveLength(2));
  held[1]?.socket.destroy();
  await eventually(async () => expect((await asking(many)).heard()).toMatch(/^HTTP\/1\.1 503/));
});

/** TLS to the CONNECT door, with a certificate of ours, and not a word. */
async function silent(localAddress: string, identity: { key: string; cert: string }): Promise<boolean> {
  const port = replica.gateway.connect?.port ?? 0;
  const plain = netConnect({ port, host: '127.0.0.1', localAddress }).on('error', () => undefined);
  const tls = { socket: plain, host: '127.0.0.1', ca: [...installation.authority.roots], ...identity };
  const socket = connect(tls).on('error', () => undefined);
  sockets.push(socket);
  await Promise.race([once(socket, 'secureConnect'), once(plain, 'close')]).catch(() => undefined);
  return plain.bytesRead > 0;
}

it('a certificate that is no client’s counts as handshaking at the CONNECT door, and a client’s does not', async () => {
  const { authority, cluster } = installation;
  const { privateKeyPem, chainPem } = await authority.agent(cluster.clusterId);
  const agent = { key: privateKeyPem, cert: chainPem };
  const { clientId } = await installation.addClient([cluster]);
  const client = await clientCertificate(authority, clientId);
  for (let n = 0; n < LIMIT; n += BATCH) {
    await Promise.all(Array.from({ length: BATCH }, () => silent('127.0.0.1', agent)));
  }
  expect([await silent('127.0.0.1', client), await silent('127.0.0.2', client)]).toEqual([false, true]);
});

/** A client that the replica has heard of. */
async function knownClient(): Promise<ClientCertificate> {
  const { authority, cluster } = installation;
  const { clientId } = await installation.addClient([cluster]);
  const certificate = await clientCertificate(authority, clientId);
  await eventually(async () => {
    const { status, socket } = await connectThrough(replica, { authority, certificate, target: '127.0.0.1:1' });
    socket.destroy();
    // No agent is there: who is let in is told so.
    expect(status).toBe(503);
  });
  return certificate;
}

it('one client has so many connections at the CONNECT door, also if it says nothing on them, and leaves the others’', async () => {
  const [many, other] = [await knownClient(), await knownClient()];
  // As many networks as it takes: none of them reaches the limit of the handshaking.
  const hold = (identity: typeof many, count: number): Promise<boolean[]> =>
    Promise.all(Array.from({ length: count }, (_, n) => silent(`127.0.1.${1 + (n % 200)}`, identity)));
  const isOpen = ({ destroyed, readableEnded }: TLSSocket): boolean => !destroyed && !readableEnded;
  for (let n = 0; n < OF_CLIENT; n += BATCH) await hold(many, Math.min(BATCH, OF_CLIENT - n));
  const held = sockets.splice(0);
  for (const socket of held) socket.resume();
  await hold(many, 5);
  const beyond = sockets.splice(0);
  for (const socket of beyond) socket.resume();
  await eventually(() => expect(beyond.filter(isOpen)).toEqual([]));
  expect(held.filter(isOpen)).toHaveLength(OF_CLIENT);
  const told = /fairlead_gateway_refusals_total\{door="connect",code="RATE_LIMITED"\} 5/;
  expect(await replica.registry.metrics()).toMatch(told);
  await hold(other, 1);
  const [others] = sockets;
  held[0]?.destroy();
  await eventually(async () => {
    await hold(many, 1);
    expect(isOpen(sockets.at(-1) as TLSSocket)).toBe(true);
  });
  expect(isOpen(others as TLSSocket)).toBe(true);
  sockets.push(...held);
});
