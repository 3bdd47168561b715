import type { Server, Socket } from 'node:net';

/** Handshakes begun in one turn of the event loop. Those under way go on in each turn, so their number stays small. */
const PER_TURN = 4;
/** Who dialled gives up after 10 s: a handshake that begins later than this is work for nobody. */
const MAX_WAIT_MS = 8_000;

interface Waiting {
  readonly socket: Socket;
  readonly sinceMs: number;
}

/**
 * Lets the connections of a TLS server begin their handshakes a few in each turn, in the order they came. When thousands
 * of agents come back at once and all handshakes go on together, each takes longer than anybody waits, and all of them
 * were for nothing; in turn, each that begins succeeds. A peer that stalls in its handshake holds up nobody. How many
 * wait is bounded by the server's `maxConnections`.
 */
export function admitInTurn(server: Server, maxWaitMs: number = MAX_WAIT_MS): void {
  const begin = server.listeners('connection') as ((socket: Socket) => void)[];
  const waiting: Waiting[] = [];
  const admit = (): void => {
    let begun = 0;
    while (begun < PER_TURN) {
      const next = waiting.shift();
      if (!next) return;
      if (next.socket.destroyed) continue;
      if (performance.now() - next.sinceMs > maxWaitMs) {
        next.socket.destroy();
        continue;
      }
      begun += 1;
      for (const listener of begin) listener.call(server, next.socket);
    }
    if (waiting.length > 0) setImmediate(admit);
  };
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    waiting.push({ socket, sinceMs: performance.now() });
    if (waiting.length === 1) setImmediate(admit);
  });
}
