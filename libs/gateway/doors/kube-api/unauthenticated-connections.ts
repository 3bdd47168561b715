import type { Http2SecureServer, ServerHttp2Session } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { clientAddressOf } from '@fairlead/limits';
import type { ConnectionShares } from '../../limits/connection-shares.js';
import { droppedBytes } from './request-rest.js';
import { holdSession } from './session-sockets.js';

/** Beside the body of a request that was refused: a head has up to 64 KiB, and what HTTP/2 and TLS add is little. */
const MOST_BYTES = 256 * 1024;
/** Of a body, what its frames and TLS may add to it. */
const FRAMING = 1.1;
/** Often enough that a core cannot bring more than some megabytes meanwhile; what is counted costs nothing while nobody is new. */
const CHECK_MS = 50;

interface Unauthenticated {
  readonly connection: ServerHttp2Session | TLSSocket;
  /** As it came from the network; undefined once it is gone. */
  readonly bytesRead: () => number | undefined;
  readonly end: () => void;
}

/**
 * Ends connections of the Kubernetes API door that bring more than any head has, and on which nobody was let in. Node looks at frames that ask for
 * nothing (WINDOW_UPDATE, PRIORITY, unknown types) by itself and for ever, and tells nobody. `onEnd` is told of each, once. To be called
 * before the server listens.
 */
export function endUnauthenticatedFloods(
  server: Http2SecureServer,
  connections: ConnectionShares,
  onEnd: (address: string) => void,
): void {
  const held = new Set<Unauthenticated>();
  const watch = (each: Unauthenticated): void => {
    held.add(each);
    each.connection.once('close', () => held.delete(each));
  };
  server.on('session', (session: ServerHttp2Session) => {
    const { socket } = session;
    const address = clientAddressOf(socket);
    watch({
      connection: session,
      bytesRead: () => (session.destroyed ? undefined : socket.bytesRead),
      end: () => {
        onEnd(address);
        holdSession(session);
      },
    });
  });
  server.on('secureConnection', (socket: TLSSocket) => {
    if (socket.alpnProtocol === 'h2') return;
    const end = (): void => {
      onEnd(clientAddressOf(socket));
      socket.destroy();
    };
    watch({ connection: socket, bytesRead: () => (socket.destroyed ? undefined : socket.bytesRead), end });
  });
  const timer = setInterval(() => {
    for (const each of held) {
      const read = connections.isKnown(each.connection) ? undefined : each.bytesRead();
      if (read !== undefined && read <= MOST_BYTES + FRAMING * droppedBytes(each.connection)) continue;
      held.delete(each);
      if (read !== undefined) each.end();
    }
  }, CHECK_MS).unref();
  server.once('close', () => clearInterval(timer));
}
