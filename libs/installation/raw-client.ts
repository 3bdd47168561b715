import { once } from 'node:events';
import { connect as netConnect, type Socket } from 'node:net';
import { finished } from 'node:stream/promises';
import { connect, type TLSSocket } from 'node:tls';
import type { Replica, TestInstallation } from './replicas.js';

const QUIET_MS = 300;

/** A TLS connection to a replica's Kubernetes API door, for bytes that no HTTP library would write. */
export async function rawDoor(
  installation: TestInstallation,
  replica: Replica,
  plain: Socket = netConnect(replica.gateway.door.port, '127.0.0.1'),
  protocol: 'http/1.1' | 'h2' = 'http/1.1',
): Promise<TLSSocket> {
  const socket = connect({
    socket: plain,
    host: '127.0.0.1',
    ca: [...installation.authority.roots],
    ALPNProtocols: [protocol],
  });
  await once(socket, 'secureConnect');
  socket.on('error', () => undefined);
  return socket;
}

/** Beside a head with 1xx, which announces another. */
const HAS_ANSWER = /(?:^|\r\n\r\n)HTTP\/1\.1 [2-5]/;

/** Sends the lines as a request head, then the body, and returns everything that is answered until the end, or until nothing more comes. */
export async function rawRequest(
  installation: TestInstallation,
  replica: Replica,
  lines: readonly string[],
  body = '',
): Promise<string> {
  const socket = await rawDoor(installation, replica);
  const heard: Buffer[] = [];
  const quiet = setInterval(() => {
    if (HAS_ANSWER.test(Buffer.concat(heard).toString())) socket.end();
  }, QUIET_MS);
  socket.on('data', (chunk: Buffer) => {
    heard.push(chunk);
    quiet.refresh();
  });
  socket.write([...lines, 'Host: door', `Authorization: Bearer ${installation.token}`, '', body].join('\r\n'));
  try {
    await finished(socket, { writable: false });
    return Buffer.concat(heard).toString();
  } finally {
    clearInterval(quiet);
  }
}
