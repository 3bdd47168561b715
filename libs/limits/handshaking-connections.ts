import type { Server, Socket } from 'node:net';
import { NetworkConcurrencyLimit, type NetworkConcurrencyLimits } from './concurrency-limit.js';
import { clientAddressOf } from './balancers/client-address.js';
import { connectionKey, type ConnectionEnds } from './connection-ends.js';
import { noteStranger } from './strangers.js';

/**
 * Bounds the connections of a server that have not shown yet who they are, so that no address or network (IPv6: a /64) keeps others out by
 * connecting: one too many is closed before its handshake, unheard. Call `admit` for each that has proved something; it takes no slot from
 * then on. Of a TLS server it ends whose handshake fails or takes too long: Node leaves the latter open, and their slots would be taken for as
 * long as they like. It tells of each that ends before (StrangerFlood). To be made before the server listens.
 */
export class HandshakingConnections {
  readonly #held = new Map<string, () => void>();

  constructor(server: Server, limits: NetworkConcurrencyLimits) {
    const slots = new NetworkConcurrencyLimit(limits);
    server.on('connection', (socket) => {
      const giveBack = slots.take(clientAddressOf(socket));
      if (!giveBack) {
        noteStranger();
        socket.destroy();
        return;
      }
      const key = connectionKey(socket);
      this.#held.set(key, giveBack);
      socket.once('close', () => {
        giveBack();
        if (this.#held.get(key) !== giveBack) return;
        this.#held.delete(key);
        noteStranger();
      });
    });
    // Not in this very turn: who else listens may want to tell whose connection it was.
    server.on('tlsClientError', (_error: Error, socket: Socket) => process.nextTick(() => socket.destroy()));
  }

  /** Calling it again does nothing. */
  admit(dialler: ConnectionEnds): void {
    const key = connectionKey(dialler);
    this.#held.get(key)?.();
    this.#held.delete(key);
  }
}
