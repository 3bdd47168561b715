import type { Server, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

/** Finds the TCP socket below a TLS one of this server, which Node does not tell. */
export function rememberPlainSockets(server: Server): (socket: TLSSocket) => Socket | undefined {
  const plain = new Map<string, Socket>();
  server.on('connection', (socket: Socket) => {
    const key = keyOf(socket);
    plain.set(key, socket);
    socket.once('close', () => {
      if (plain.get(key) === socket) plain.delete(key);
    });
  });
  return (socket) => plain.get(keyOf(socket));
}

/** A client may use one port of its own for connections to several addresses of ours. */
function keyOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}
