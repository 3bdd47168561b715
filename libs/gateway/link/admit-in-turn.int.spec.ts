import { once } from 'node:events';
import { Server as NetServer, Socket, connect as netConnect, type AddressInfo } from 'node:net';
import { connect, createServer, type Server, type TLSSocket } from 'node:tls';
import { admitInTurn } from '@fairlead/limits';
import { eventually, testAuthority, type TestAuthority } from '@fairlead/testing';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';

let authority: TestAuthority;
let server: Server;
const ends: { destroy(): void }[] = [];

beforeAll(async () => {
  authority = await testAuthority();
});
beforeEach(async () => {
  const { privateKeyPem, chainPem } = await authority.serving(['127.0.0.1']);
  server = createServer({ key: privateKeyPem, cert: chainPem, minVersion: 'TLSv1.3' });
  server.on('secureConnection', (socket: TLSSocket) => ends.push(socket.on('error', () => undefined)));
  server.on('tlsClientError', () => undefined);
});
afterEach(() => {
  for (const end of ends.splice(0)) end.destroy();
  server.close();
});

async function listen(maxWaitMs?: number): Promise<number> {
  admitInTurn(server, maxWaitMs);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

function dial(port: number): TLSSocket {
  const socket = connect({ port, host: '127.0.0.1', ca: [...authority.roots] });
  ends.push(socket.on('error', () => undefined));
  return socket;
}

it('a crowd at once all gets through, behind peers that never begin their handshake', async () => {
  // This is about the turns: on a busy machine somebody may well wait for longer than anybody does.
  const port = await listen(60_000);
  for (let i = 0; i < 200; i += 1) ends.push(netConnect(port, '127.0.0.1').on('error', () => undefined));
  const crowd = Array.from({ length: 200 }, () => dial(port));
  await Promise.all(crowd.map((socket) => once(socket, 'secureConnect')));
  expect(crowd.every(({ authorized }) => authorized)).toBe(true);
});

it('who comes from another network has not to wait for a crowd, and one that resets its connection meanwhile ends nothing', async () => {
  const begun: string[] = [];
  const waiting = new NetServer();
  waiting.on('connection', ({ remoteAddress = '' }: Socket) => void begun.push(remoteAddress));
  admitInTurn(waiting);
  const from = (remoteAddress: string): Socket =>
    Object.defineProperty(new Socket(), 'remoteAddress', { value: remoteAddress });
  const crowd = Array.from({ length: 40 }, () => from('192.0.2.1'));
  for (const socket of crowd) waiting.emit('connection', socket);
  waiting.emit('connection', from('192.0.2.2'));
  crowd[39]?.destroy(new Error('read ECONNRESET'));
  await eventually(() => expect(begun).toHaveLength(40));
  expect(begun.indexOf('192.0.2.2')).toBe(1);
});

it('who waited longer than anybody does is dropped before any work is done for it', async () => {
  let handshakes = 0;
  server.on('secureConnection', () => (handshakes += 1));
  const port = await listen(-1);
  const late = dial(port);
  await new Promise((resolve) => late.once('close', resolve));
  expect(handshakes).toBe(0);
});
