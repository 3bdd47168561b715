// A process with a TLS server that shakes hands and closes each connection at the first bytes that come: the least that any server does under a flood.
// It says where it listens in one line of JSON, and ends with whoever started it.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { testAuthority } from '@fairlead/testing';

const HOST = '127.0.0.1';

const { privateKeyPem, chainPem } = await (await testAuthority()).serving([HOST]);
const server = createServer(
  { key: privateKeyPem, cert: chainPem, minVersion: 'TLSv1.3', ALPNProtocols: ['h2'] },
  (socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.destroy());
  },
);
server.on('tlsClientError', (_error, socket) => socket.destroy());
server.listen(0, HOST);
await once(server, 'listening');
process.stdout.write(`${JSON.stringify({ host: HOST, port: (server.address() as AddressInfo).port })}\n`);
