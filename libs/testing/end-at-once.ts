import { once } from 'node:events';
import type { Server, Socket } from 'node:net';

/**
 * What ends a server of a test, whoever is connected to it; asked for before it listens. Sessions are not all there is to end: a
 * connection whose peer went away while it shook hands has none, and would be waited for without end.
 */
export function endsAtOnce(server: Server): () => Promise<void> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return async () => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
}
