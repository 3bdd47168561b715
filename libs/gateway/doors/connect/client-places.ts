import type { Server } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { HandshakingConnections } from '@fairlead/limits';
import { KnownPlaces, connectionsOf, type DoorShares } from '../../limits/door-places.js';

const TOO_MANY =
  'this client has too many connections open here: close some; the limit is FAIRLEAD_CONNECT_MAX_PER_CLIENT of the gateway';

/** Whose the connections of the CONNECT door are: newcomers' until their handshake has shown a client, and then that client's, with or without a CONNECT. */
export class ClientPlaces {
  readonly #newcomers: HandshakingConnections;
  readonly #clients: KnownPlaces;
  readonly #known = new WeakSet<TLSSocket>();

  /** Before the server listens. */
  constructor(server: Server, shares: DoorShares) {
    server.maxConnections = connectionsOf(shares);
    this.#newcomers = new HandshakingConnections(server, shares.newcomers);
    this.#clients = new KnownPlaces(shares.known, TOO_MANY);
  }

  /** It is this client's until it ends. Calling it again does nothing. RATE_LIMITED, UNAVAILABLE, and it stays a newcomer's. */
  admit(socket: TLSSocket, clientId: string): void {
    if (this.#known.has(socket)) return;
    const giveBack = this.#clients.take(clientId);
    this.#known.add(socket);
    this.#newcomers.admit(socket);
    if (socket.destroyed) giveBack();
    else socket.once('close', giveBack);
  }
}
