import { once } from 'node:events';
import { connect as netConnect, type AddressInfo } from 'node:net';
import { connect, createServer, type Server, type TLSSocket } from 'node:tls';
import { silentLogger } from '@fairlead/observability';
import { eventually, testAuthority } from '@fairlead/testing';
import { reportTlsErrors } from '@fairlead/tunnel/gateway';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { boundUnlinked } from './unlinked-connections.js';

let server: Server;
let port: number;

beforeAll(async () => {
  const { privateKeyPem, chainPem } = await (await testAuthority()).serving(['127.0.0.1']);
  server = createServer({ key: privateKeyPem, cert: chainPem, minVersion: 'TLSv1.3', handshakeTimeout: 300 });
  server.on('secureConnection', (socket: TLSSocket) => socket.on('error', () => undefined).end());
  reportTlsErrors(server, silentLogger);
  boundUnlinked(server, { counts: () => true, onLinked: () => undefined, handshaking: { total: 10, perNetwork: 3 } });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});
afterAll(() => void server.close());

/** Does the server shake hands with one more? */
async function isServed(): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }).on('error', () => undefined);
  const served = await new Promise<boolean>((resolve) => {
    socket.once('secureConnect', () => resolve(true)).once('close', () => resolve(false));
  });
  socket.destroy();
  return served;
}

it.each<[string, () => void]>([
  ['never begins its handshake', () => void netConnect(port, '127.0.0.1').on('error', () => undefined)],
  [
    'goes away at once',
    () =>
      void netConnect(port, '127.0.0.1', function (this: { destroy(): void }) {
        this.destroy();
      }),
  ],
  [
    'speaks no TLS',
    () =>
      void netConnect(port, '127.0.0.1')
        .on('error', () => undefined)
        .end('GET / HTTP/1.1\r\n\r\n'),
  ],
  ['trusts nobody', () => void connect({ port, host: '127.0.0.1' }).on('error', () => undefined)],
])('whoever %s has its place until the handshake’s time is over, and no longer', async (_, dial) => {
  for (let round = 0; round < 3; round += 1) {
    for (let n = 0; n < 6; n += 1) dial();
    await eventually(async () => expect(await isServed()).toBe(true));
  }
});

it('who has not shaken hands takes no more places than there are', async () => {
  const silent = Array.from({ length: 3 }, () => netConnect(port, '127.0.0.1').on('error', () => undefined));
  await Promise.all(silent.map((socket) => once(socket, 'connect')));
  expect(await isServed()).toBe(false);
  for (const socket of silent) socket.destroy();
  await eventually(async () => expect(await isServed()).toBe(true));
});
