import type { Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { connectionKey } from '@fairlead/limits';

/** Finds the TCP socket below a TLS one of this server, which Node does not tell. */
export function rememberPlainSockets(server: Server): (socket: TLSSocket) => Socket | undefined {
  const plain = new Map<string, Socket>();
  server.on('connection', (socket: Socket) => {
    const key = connectionKey(socket);
    plain.set(key, socket);
    socket.once('close', () => {
      if (plain.get(key) === socket) plain.delete(key);
    });
  });
  return (socket) => plain.get(connectionKey(socket));
}

const CHECKS = 4;

/**
 * Calls `reset` when a client that ended its own direction takes nothing of what waits for it for `stallMs`. It is gone
 * then: Node (24.21) can lose the error of a TLS write to a peer that reset its connection, and such a
 * socket would stay for ever. As long as a client has not ended its direction it may stall as long as it likes.
 */
export function endStalled(
  socket: Duplex & { readonly bytesWritten: number },
  stallMs: number,
  reset: () => void,
): void {
  const watch = (): void => {
    let before = -1;
    let still = 0;
    const timer = setInterval(() => {
      const taken = socket.bytesWritten - socket.writableLength;
      still = socket.writableLength > 0 && taken === before ? still + 1 : 0;
      before = taken;
      if (still >= CHECKS) reset();
    }, stallMs / CHECKS).unref();
    socket.once('close', () => clearInterval(timer));
  };
  if (socket.readableEnded) watch();
  else socket.once('end', watch);
}

const CHECK_MS = 5_000;
const NOTHING = Buffer.alloc(0);

/**
 * Notices that a client vanished without a word while nobody reads from it: it ended its direction, or its bytes are not
 * taken. TCP keepalive gives it up, but Node (24.21) looks at a socket only while it reads or writes it. So it writes
 * nothing now and then, to the TCP socket below, as TLS does not tell whether an empty write failed: that puts nothing on
 * the wire, and fails where the kernel has given up. What waits to be written does not see keepalive; see endStalled.
 */
export function noticeVanished(socket: TLSSocket, plain: Socket, checkMs: number = CHECK_MS): void {
  let asking = false;
  const timer = setInterval(() => {
    const read = !socket.readableEnded && !socket.isPaused();
    // Once this end is over, even an empty write fails.
    if (read || asking || socket.writableEnded || plain.destroyed) return;
    asking = true;
    plain.write(NOTHING, () => (asking = false));
  }, checkMs).unref();
  // Unheard it would end the process; the TLS socket tells of it.
  plain.on('error', () => undefined);
  socket.once('close', () => clearInterval(timer));
}
