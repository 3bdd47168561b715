import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { HandshakingConnections } from '../handshaking-connections.js';
import { acceptFromBalancers } from './accept-from-balancers.js';
import { clientAddressOf } from './client-address.js';

const BALANCER = '127.0.0.9';
const SIGNATURE = Buffer.from('0d0a0d0a000d0a515549540a', 'hex');

/** As a balancer tells a client of 192.0.2.<host>. */
const headerOf = (host: number): Buffer =>
  Buffer.concat([SIGNATURE, Buffer.from([0x21, 0x11, 0, 12, 192, 0, 2, host, 127, 0, 0, 1, 0x9c, 0x40, 1, 0xbb])]);
const LOCAL = Buffer.concat([SIGNATURE, Buffer.from([0x20, 0, 0, 0])]);

const open: (Server | Socket)[] = [];
const refused: (readonly [string, string])[] = [];

afterEach(() => {
  for (const each of open.splice(0)) {
    if ('destroy' in each) each.destroy();
    else each.close();
  }
  refused.length = 0;
});

/** Answers each connection with the address of its client, and then with whatever it says. */
async function startServer(prepare: (server: Server) => void = () => undefined): Promise<Server> {
  const server = createServer();
  open.push(server);
  prepare(server);
  server.on('connection', (socket: Socket) => {
    if (socket.destroyed) return;
    socket.on('error', () => undefined);
    socket.write(`${clientAddressOf(socket)}|`);
    socket.pipe(socket);
  });
  const onRefused = (why: string, balancer: string): void => void refused.push([why, balancer]);
  acceptFromBalancers(server, { networks: ['10.0.0.0/8', BALANCER], onRefused, headerTimeoutMs: 500 });
  server.listen(0, '::ffff:127.0.0.1');
  await once(server, 'listening');
  return server;
}

function dial(server: Server, localAddress: string): Socket {
  const { port } = server.address() as AddressInfo;
  const socket = connect({ host: '127.0.0.1', port, localAddress }).setEncoding('latin1');
  socket.on('error', () => undefined);
  open.push(socket);
  return socket;
}

/** All that comes until the server ends the connection. */
const answerTo = async (socket: Socket): Promise<string> => (await socket.toArray()).join('');

it('gives a connection of a balancer to the server as its client’s, without its header', async () => {
  const server = await startServer();
  const socket = dial(server, BALANCER);
  socket.end(Buffer.concat([headerOf(7), Buffer.from('hello')]));
  expect(await answerTo(socket)).toBe('192.0.2.7|hello');
});

it('takes a header byte by byte, and loses nothing behind it', async () => {
  const server = await startServer();
  const socket = dial(server, BALANCER).setNoDelay(true);
  for (const byte of headerOf(8)) {
    socket.write(Buffer.from([byte]));
    await new Promise((resolve) => setImmediate(resolve));
  }
  socket.end('hello');
  expect(await answerTo(socket)).toBe('192.0.2.8|hello');
});

it('takes a balancer that speaks for itself as what it is', async () => {
  const server = await startServer();
  const socket = dial(server, BALANCER);
  socket.end(Buffer.concat([LOCAL, Buffer.from('hello')]));
  expect(await answerTo(socket)).toMatch(/^(::ffff:)?127\.0\.0\.9\|hello$/);
});

it('believes no header of anybody else: it is served as whatever it said, by its own address', async () => {
  const server = await startServer();
  const socket = dial(server, '127.0.0.8');
  socket.end(headerOf(7));
  const answer = await answerTo(socket);
  expect(answer).toMatch(/^(::ffff:)?127\.0\.0\.8\|\r\n\r\n/);
});

it.each([
  ['without a header', Buffer.from('\x16\x03\x01'), 'no PROXY header came'],
  ['with one of version 1', Buffer.from('PROXY TCP4 192.0.2.7 127.0.0.1 1 2\r\n'), 'of version 1'],
  ['that ends within it', headerOf(7).subarray(0, 20), 'ended within the PROXY header'],
])('refuses a balancer %s, and says why', async (_how, bytes, why) => {
  const server = await startServer();
  const socket = dial(server, BALANCER);
  socket.end(bytes);
  expect(await answerTo(socket)).toBe('');
  expect(refused).toEqual([[expect.stringContaining(why), expect.stringContaining(BALANCER)]]);
});

it('refuses a balancer whose header does not come in time', async () => {
  const server = await startServer();
  const socket = dial(server, BALANCER);
  socket.write(headerOf(7).subarray(0, 20));
  expect(await answerTo(socket)).toBe('');
  expect(refused).toEqual([[expect.stringContaining('within 0.5 s'), expect.stringContaining(BALANCER)]]);
});

it.each([
  ['without a word', ''],
  ['and said who it is', LOCAL],
])('says nothing of a balancer that only looked whether somebody listens, %s', async (_how, said) => {
  const server = await startServer();
  const socket = dial(server, BALANCER);
  socket.end(said);
  expect(await answerTo(socket)).toBe('');
  expect(refused).toEqual([]);
});

it('counts by clients what is limited by address', async () => {
  const server = await startServer((each) => void new HandshakingConnections(each, { total: 10, perNetwork: 1 }));
  const through = async (host: number): Promise<string> => {
    const socket = dial(server, BALANCER);
    socket.write(headerOf(host));
    const [told] = (await Promise.race([once(socket, 'data'), once(socket, 'close').then(() => [''])])) as [string];
    return told;
  };
  expect(await through(1)).toBe('192.0.2.1|');
  expect(await through(2)).toBe('192.0.2.2|');
  expect(await through(1)).not.toBe('192.0.2.1|');
});
