import type { Server, Socket } from 'node:net';
import { clientAddressOf } from './balancers/client-address.js';
import { networkOf } from './network-of.js';

/** Handshakes begun in one turn of the event loop. Those under way go on in each turn, so their number stays small. */
const PER_TURN = 4;
/** Who dialled gives up after 10 s: a handshake that begins later than this is work for nobody. */
const MAX_WAIT_MS = 8_000;

interface Waiting {
  readonly socket: Socket;
  readonly sinceMs: number;
}

/**
 * Lets the connections of a TLS server begin their handshakes a few in each turn, those of each network (IPv6: a /64) in the order they came, and
 * networks one after the other. When thousands come back at once and all handshakes go on together, each takes longer than anybody waits, and
 * all of them were for nothing; in turn, each that begins succeeds, and what else the process does goes on between them. A peer that stalls in its
 * handshake holds up nobody. How many wait is bounded by the server's `maxConnections`. To be called before anybody else
 * hears of the server's connections.
 */
export function admitInTurn(server: Server, maxWaitMs: number = MAX_WAIT_MS): void {
  const begin = server.listeners('connection') as ((socket: Socket) => void)[];
  const queue = new FairQueue();
  const admit = (): void => {
    for (let begun = 0; begun < PER_TURN;) {
      const next = queue.next();
      if (!next) return;
      if (next.socket.destroyed) continue;
      if (performance.now() - next.sinceMs > maxWaitMs) {
        next.socket.destroy();
        continue;
      }
      begun += 1;
      next.socket.off('error', ignore);
      for (const listener of begin) listener.call(server, next.socket);
    }
    if (!queue.isEmpty) setImmediate(admit);
  };
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    if (queue.isEmpty) setImmediate(admit);
    // Nobody else listens yet, and a peer that resets its connection must not end the process.
    socket.on('error', ignore);
    queue.add({ socket, sinceMs: performance.now() });
  });
}

/** One of each network in turn. */
class FairQueue {
  /** By network; the first one is the next to be asked. */
  readonly #waiting = new Map<string, Waiting[]>();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  add(waiting: Waiting): void {
    const network = networkOf(clientAddressOf(waiting.socket));
    const before = this.#waiting.get(network);
    if (before) before.push(waiting);
    else this.#waiting.set(network, [waiting]);
  }

  next(): Waiting | undefined {
    const [first] = this.#waiting;
    if (!first) return undefined;
    const [network, waiting] = first;
    const next = waiting.shift();
    this.#waiting.delete(network);
    if (waiting.length > 0) this.#waiting.set(network, waiting);
    return next;
  }
}

function ignore(): void {
  // It closes, and is passed over.
}
