// Runs in a network namespace of its own: a door's sockets, and clients from which, once all stands, no packet comes any
// more. Prints who was noticed to be gone, and after how many seconds. Arguments: files of a key and its certificate.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { noticeVanished } from '../doors/connect/vanished-clients.js';

const [, , keyFile = '', certFile = ''] = process.argv;
const GIVE_UP_MS = 40_000;
const CHECK_MS = 500;

const server = createServer({
  key: readFileSync(keyFile),
  cert: readFileSync(certFile),
  allowHalfOpen: true,
  keepAlive: true,
  keepAliveInitialDelay: 1_000,
} as Parameters<typeof createServer>[0]);
let plain: Socket | undefined;
server.on('connection', (socket: Socket) => (plain = socket));

execFileSync('ip', ['link', 'set', 'lo', 'up']);
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;

/** A client, and the door's end of its connection. */
async function join(): Promise<{ client: TLSSocket; served: TLSSocket }> {
  const client = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
  client.on('error', () => undefined);
  const [served] = (await once(server, 'secureConnection')) as [TLSSocket];
  served.on('error', () => undefined);
  noticeVanished(served, plain as Socket, CHECK_MS);
  // What the client sends after this acknowledges all that went to it: nothing of it is on its way when it vanishes.
  served.write('welcome');
  await once(client, 'data');
  return { client, served };
}

const halfClosed = await join();
halfClosed.served.resume();
halfClosed.client.end();
await once(halfClosed.served, 'end');
const stalled = await join();
stalled.served.once('data', () => stalled.served.pause());
while (stalled.client.write(Buffer.alloc(65_536)));
await once(stalled.served, 'pause');

const closed = ({ served }: typeof stalled): Promise<void> => new Promise((resolve) => served.once('close', resolve));
const gone = Promise.all([halfClosed, stalled].map(closed));
execFileSync('ip', ['link', 'set', 'lo', 'down']);
const sinceMs = performance.now();
setTimeout(() => process.exit(1), GIVE_UP_MS);
await gone;
process.stdout.write(`${Math.round((performance.now() - sinceMs) / 1_000)}\n`);
process.exit(0);
