import type { Server, Socket } from 'node:net';
import { NetworkConcurrencyLimit, type NetworkConcurrencyLimits } from './concurrency-limit.js';
import { clientAddressOf } from './balancers/client-address.js';
import { connectionKey, type ConnectionEnds } from './connection-ends.js';
import { noteUnauthenticatedEnd } from './unauthenticated-flood.js';

interface Handshaking {
  readonly giveBack: () => void;
  isAdmitted: boolean;
}

/**
 * Bounds the connections of a server that have not shown yet who they are, so that no address or network (IPv6: a /64) keeps others out by
 * connecting: one too many is closed before its handshake, unheard. Call `admit` for each that has proved something; it takes no slot from
 * then on. Of a TLS server it ends whose handshake fails or takes too long: Node leaves the latter open, and their slots would be taken for as
 * long as they like. It notes each that ends before (UnauthenticatedFlood), but those whose peers said nothing, as probes of load balancers do. To be made before the server listens.
 */
export class HandshakingConnections {
  readonly #held = new Map<string, Handshaking>();

  constructor(server: Server, limits: NetworkConcurrencyLimits) {
    const slots = new NetworkConcurrencyLimit(limits);
    server.on('connection', (socket) => {
      const giveBack = slots.take(clientAddressOf(socket));
      if (!giveBack) {
        noteUnauthenticatedEnd();
        socket.destroy();
        return;
      }
      const key = connectionKey(socket);
      const entry: Handshaking = { giveBack, isAdmitted: false };
      this.#held.set(key, entry);
      socket.once('close', () => {
        giveBack();
        // Another one may have come from the same port, if this one was not read any more.
        if (this.#held.get(key) === entry) this.#held.delete(key);
        if (!entry.isAdmitted && socket.bytesRead > 0) noteUnauthenticatedEnd();
      });
    });
    // Not in this very turn: who else listens may want to tell whose connection it was.
    server.on('tlsClientError', (_error: Error, socket: Socket) => process.nextTick(() => socket.destroy()));
  }

  /** Calling it again does nothing. */
  admit(dialler: ConnectionEnds): void {
    const key = connectionKey(dialler);
    const entry = this.#held.get(key);
    if (!entry) return;
    entry.giveBack();
    entry.isAdmitted = true;
    this.#held.delete(key);
  }
}
