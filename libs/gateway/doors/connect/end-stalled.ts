import type { Duplex } from 'node:stream';

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
