import { FairleadError } from '@fairlead/errors';

export interface ConnectLimits {
  /** Open connections of this replica, being dialled or carrying bytes. */
  readonly total: number;
  readonly perClient: number;
  /** Of one client, how many may be waiting for their target at once. */
  readonly opensPerClient: number;
  /** How long a client that ended its direction may take nothing before it is held to be gone. */
  readonly halfClosedStallMs: number;
}

export const DEFAULT_CONNECT_LIMITS: ConnectLimits = {
  total: 10_000,
  perClient: 4_096,
  opensPerClient: 512,
  halfClosedStallMs: 120_000,
};

interface Usage {
  connections: number;
  opening: number;
}

/** A place among the connections; each of the two is called once at least, more often does nothing. */
export interface Place {
  /** The target is there, or is not to be had. */
  opened(): void;
  /** The connection is over. */
  release(): void;
}

/** Counts connections, so that one client in excess is refused at once and nobody else waits. */
export class ConnectionLimiter {
  readonly #limits: ConnectLimits;
  readonly #usage = new Map<string, Usage>();
  #total = 0;

  constructor(limits: ConnectLimits) {
    this.#limits = limits;
  }

  get total(): number {
    return this.#total;
  }

  /** RATE_LIMITED when this client has too many, UNAVAILABLE when the replica has. */
  take(clientId: string): Place {
    const { total, perClient, opensPerClient } = this.#limits;
    const usage = this.#usage.get(clientId) ?? { connections: 0, opening: 0 };
    if (this.#total >= total) throw new FairleadError('UNAVAILABLE', 'this replica has no room for more connections');
    if (usage.connections >= perClient) {
      throw new FairleadError('RATE_LIMITED', `this client has ${perClient} connections open already`);
    }
    if (usage.opening >= opensPerClient) {
      throw new FairleadError('RATE_LIMITED', `${opensPerClient} connections of this client wait for their targets`);
    }
    this.#usage.set(clientId, usage);
    this.#total += 1;
    usage.connections += 1;
    usage.opening += 1;
    const opened = onlyOnce(() => (usage.opening -= 1));
    const release = onlyOnce(() => {
      opened();
      this.#total -= 1;
      usage.connections -= 1;
      if (usage.connections === 0) this.#usage.delete(clientId);
    });
    return { opened, release };
  }
}

function onlyOnce(action: () => void): () => void {
  let done = false;
  return () => {
    if (!done) action();
    done = true;
  };
}
