import { FairleadError } from '@fairlead/errors';
import { ConcurrencyLimit, type ConcurrencyLimits, type NetworkConcurrencyLimits } from '@fairlead/limits';

/** How the connections of a door are shared. Each takes a newcomer's place first, and one of those let in from then on. */
export interface DoorShares {
  /** On which nobody was let in yet; all who are behind one address may begin anew at once. */
  readonly newcomers: NetworkConcurrencyLimits;
  /** Of those who were let in, by user or client. */
  readonly known: ConcurrencyLimits;
}

/** Two users that have all they may leave so many to others. */
const USERS = { total: 10_000, rest: 2_000 };
/** Connections over the limit that may be there at once to be told so, of all clients and of one; those beyond are closed unheard. */
const REFUSALS = { total: 1_000, perClient: 256 };

export function kubeApiShares(connectionsPerUser: number): DoorShares {
  const total = Math.max(USERS.total, 2 * connectionsPerUser + USERS.rest);
  return { newcomers: { total: 6_000, perNetwork: 2_048 }, known: { total, perKey: connectionsPerUser } };
}

/** `total` and `perClient`: CONNECTs at once. */
export function connectShares(total: number, perClient: number): DoorShares {
  const known = { total: total + REFUSALS.total, perKey: perClient + REFUSALS.perClient };
  const newcomers = Math.ceil(known.total / 2);
  return { newcomers: { total: newcomers, perNetwork: Math.ceil(newcomers / 2) }, known };
}

/** What the port has: whoever has a place finds a connection for it, so that neither share takes anything of the other. */
export function connectionsOf({ newcomers, known }: DoorShares): number {
  return newcomers.total + known.total;
}

/** The places of those who were let in. */
export class KnownPlaces {
  readonly #limits: ConcurrencyLimits;
  readonly #perKey: ConcurrencyLimit;
  readonly #all: ConcurrencyLimit;
  readonly #tooMany: string;

  /** `tooMany`: what somebody is told who has as many as one may. */
  constructor(limits: ConcurrencyLimits, tooMany: string) {
    this.#limits = limits;
    this.#tooMany = tooMany;
    this.#perKey = new ConcurrencyLimit({ total: Infinity, perKey: limits.perKey });
    this.#all = new ConcurrencyLimit({ total: limits.total, perKey: Infinity });
  }

  /** What gives the place back, which counts once. RATE_LIMITED if this one has as many as one may; UNAVAILABLE if all together have. */
  take(who: string): () => void {
    const leave = this.#perKey.take(who);
    if (!leave) throw new FairleadError('RATE_LIMITED', this.#tooMany);
    const leaveAll = this.#all.take('');
    if (!leaveAll) {
      leave();
      throw new FairleadError(
        'UNAVAILABLE',
        `this replica has no room for more than ${this.#limits.total} connections`,
      );
    }
    return () => {
      leave();
      leaveAll();
    };
  }
}
