import { once } from 'node:events';
import { connect as netConnect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect, type TLSSocket } from 'node:tls';
import type { Replica, TestInstallation } from './replicas.js';

/** A TLS connection to a replica's Kubernetes API door, for bytes that no HTTP library would write. */
export async function rawDoor(
  installation: TestInstallation,
  replica: Replica,
  plain: Socket = netConnect(replica.gateway.door.port, '127.0.0.1'),
): Promise<TLSSocket> {
  const socket = connect({
    socket: plain,
    host: '127.0.0.1',
    ca: [...installation.authority.roots],
    ALPNProtocols: ['http/1.1'],
  });
  await once(socket, 'secureConnect');
  socket.on('error', () => undefined);
  return socket;
}

/** Sends the lines as a request head, then the body, and returns everything that is answered until the end. */
export async function rawRequest(
  installation: TestInstallation,
  replica: Replica,
  lines: readonly string[],
  body = '',
): Promise<string> {
  const socket = await rawDoor(installation, replica);
  const answer = text(socket);
  socket.write([...lines, 'Host: door', `Authorization: Bearer ${installation.token}`, '', body].join('\r\n'));
  const quiet = setInterval(() => {
    if (socket.bytesRead > 0) socket.end();
  }, 300);
  try {
    return await answer;
  } finally {
    clearInterval(quiet);
  }
}
