import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

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
