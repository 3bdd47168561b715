import type { Server } from 'node:net';
import { FairleadError } from '@fairlead/errors';
import {
  ConcurrencyLimit,
  HandshakingConnections,
  type ConcurrencyLimits,
  type ConnectionEnds,
  type NetworkConcurrencyLimits,
} from '@fairlead/limits';

/** How the connections of a door are shared. Each is among the unauthenticated first, and of who was let in from then on. */
export interface DoorShares {
  /** On which nobody was let in yet; all who are behind one address may begin anew at once. */
  readonly unauthenticated: NetworkConcurrencyLimits;
  /** Of those who were let in, by user or client. */
  readonly known: ConcurrencyLimits;
}

/** Two users that have all they may leave so many to others. */
const USERS = { total: 10_000, rest: 2_000 };
/** Connections over the limit that may be there at once to be told so, of all clients and of one; those beyond are closed unheard. */
const REFUSALS = { total: 1_000, perClient: 256 };

export function kubeApiShares(connectionsPerUser: number): DoorShares {
  const total = Math.max(USERS.total, 2 * connectionsPerUser + USERS.rest);
  return { unauthenticated: { total: 6_000, perNetwork: 2_048 }, known: { total, perKey: connectionsPerUser } };
}

/** `total` and `perClient`: CONNECTs at once. */
export function connectShares(total: number, perClient: number): DoorShares {
  const known = { total: total + REFUSALS.total, perKey: perClient + REFUSALS.perClient };
  const unauthenticated = Math.ceil(known.total / 2);
  return { unauthenticated: { total: unauthenticated, perNetwork: Math.ceil(unauthenticated / 2) }, known };
}

/** What the port has: whoever has a slot finds a connection for it, so that neither share takes anything of the other. */
export function connectionsOf({ unauthenticated, known }: DoorShares): number {
  return unauthenticated.total + known.total;
}

/** A socket, or an HTTP/2 session. */
export interface DoorConnection {
  readonly destroyed: boolean;
  once(event: 'close', listener: () => void): unknown;
}

/** Whose the connections of a door are: nobody's until somebody was let in on it, and then whose that was, until it ends. */
export class ConnectionShares {
  readonly #shares: DoorShares;
  readonly #tooMany: string;
  readonly #unauthenticated: HandshakingConnections;
  readonly #known: ConcurrencyLimit;
  readonly #admitted = new WeakSet<DoorConnection>();

  /** Before the server listens. `tooMany`: what somebody is told who has as many as one may. */
  constructor(server: Server, shares: DoorShares, tooMany: string) {
    server.maxConnections = connectionsOf(shares);
    this.#shares = shares;
    this.#tooMany = tooMany;
    this.#unauthenticated = new HandshakingConnections(server, shares.unauthenticated);
    this.#known = new ConcurrencyLimit(shares.known);
  }

  /** Was somebody let in on it? */
  isKnown(connection: DoorConnection): boolean {
    return this.#admitted.has(connection);
  }

  /**
   * Somebody is let in on it; whoever comes after that changes nothing. RATE_LIMITED if this one has as many as one may, UNAVAILABLE if all
   * together have; it stays among the unauthenticated then.
   */
  admit(connection: DoorConnection, ends: ConnectionEnds, who: string): void {
    if (this.#admitted.has(connection)) return;
    const giveBack = this.#known.take(who);
    if (!giveBack) throw this.#refusal(who);
    this.#admitted.add(connection);
    this.#unauthenticated.admit(ends);
    if (connection.destroyed) giveBack();
    else connection.once('close', giveBack);
  }

  #refusal(who: string): FairleadError {
    if (this.#known.isUsedUp(who)) return new FairleadError('RATE_LIMITED', this.#tooMany);
    const { total } = this.#shares.known;
    return new FairleadError('UNAVAILABLE', `this replica has no room for more than ${total} connections`);
  }
}
