import { once } from 'node:events';
import { connect as netConnect, type Socket } from 'node:net';
import { connect } from 'node:tls';
import { eventually } from '@fairlead/testing';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { untilLetIn } from './kube-client.js';
import { rawDoor } from './raw-client.js';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';

/** Beyond the limit that one address has. */
const TOO_MANY = 20;
/** The largest crowd that says nothing has to be there until it was counted, however slow the machine is; by default 10 s. */
const HEADERS_TIMEOUT_MS = 60_000;

let installation: TestInstallation;
let replica: Replica;
const crowd: Socket[] = [];

beforeAll(async () => {
  installation = await startInstallation();
  replica = await installation.startReplica('gateway-a', {
    connectLimits: { total: 100 },
    kubeApiLimits: { headersTimeoutMs: HEADERS_TIMEOUT_MS },
  });
  await untilLetIn(installation, replica);
});
afterEach(() => {
  for (const socket of crowd.splice(0)) socket.destroy();
});
afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
});

/** Connections that say nothing, from one address. */
async function silence(port: number, count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let n = 0; n < count; n += 1) {
    const socket = netConnect({ port, host: '127.0.0.1', localAddress: '127.0.0.1' }).on('error', () => undefined);
    sockets.push(socket);
    crowd.push(socket);
    // A crowd all at once overflows the kernel's queue, and then this is about the kernel.
    if (n % 100 === 99) await once(socket, 'connect');
  }
  return sockets;
}

/** Is a handshake begun, with whatever end, or the connection closed without a word? */
async function isHeard(port: number, localAddress: string): Promise<boolean> {
  const plain = netConnect({ port, host: '127.0.0.1', localAddress }).on('error', () => undefined);
  const socket = connect({ socket: plain, rejectUnauthorized: false }).on('error', () => undefined);
  await Promise.race([once(socket, 'secureConnect'), once(plain, 'close')]).catch(() => undefined);
  const heard = plain.bytesRead > 0;
  socket.destroy();
  plain.destroy();
  return heard;
}

it.each([
  { door: 'the Kubernetes API door', limit: 2_048, portOf: () => replica.gateway.door.port },
  { door: 'the CONNECT door', limit: 275, portOf: () => replica.gateway.connect?.port ?? 0 },
  { door: 'the replicas’ own door', limit: 256, portOf: () => replica.gateway.relay.port },
])('who proves nothing at $door has a limit of $limit from one address, and leaves the others’', async (each) => {
  const port = each.portOf();
  const sockets = await silence(port, each.limit + TOO_MANY);
  const closed = (): number => sockets.filter((socket) => socket.closed || socket.destroyed).length;
  for (const socket of sockets) socket.resume();
  await eventually(() => expect(closed()).toBe(TOO_MANY));
  expect([await isHeard(port, '127.0.0.1'), await isHeard(port, '127.0.0.2')]).toEqual([false, true]);
  for (const socket of crowd.splice(0)) socket.destroy();
  // The CONNECT door notices whoever left in the middle of a handshake when the time for it is over.
  await eventually(async () => expect(await isHeard(port, '127.0.0.1')).toBe(true), { timeoutMs: 45_000 });
});

it('who was let in at the Kubernetes API door takes no place, and keeps the connection', async () => {
  const socket = await rawDoor(installation, replica);
  let heard = '';
  socket.on('data', (chunk: Buffer) => (heard += chunk.toString('latin1')));
  const ask = (): boolean =>
    socket.write(`GET /clusters/demo/api HTTP/1.1\r\nHost: d\r\nAuthorization: Bearer ${installation.token}\r\n\r\n`);
  ask();
  await eventually(() => expect(heard.match(/HTTP\/1\.1 503/g)).toHaveLength(1));
  const sockets = await silence(replica.gateway.door.port, 2_048);
  await eventually(async () => expect(await isHeard(replica.gateway.door.port, '127.0.0.1')).toBe(false));
  expect(sockets.filter(({ destroyed }) => destroyed)).toEqual([]);
  ask();
  await eventually(() => expect(heard.match(/HTTP\/1\.1 503/g)).toHaveLength(2));
  socket.destroy();
});
