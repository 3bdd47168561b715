import { FairleadError } from '@fairlead/errors';
import { ConcurrencyLimit, KeyedRateLimit } from '@fairlead/limits';
import { DOORS, type DoorName } from '../passage/door-table.js';
import type { LiveConnections } from '../passage/live-connections.js';

/** What one door takes in at once, and from whom. */
export interface DoorLimits {
  /** At once, being opened or carrying bytes. */
  readonly total: number;
  /** Of one identity (client or user), how many may be waiting for their target at once. */
  readonly waitingPerIdentity: number;
  readonly perIdentity: UsageLimits;
  readonly perCluster: UsageLimits;
  /** What all connections of the replica may hold when another one comes. */
  readonly heldBytes: number;
}

const MEBIBYTE = 1024 ** 2;

export const DEFAULT_DOOR_LIMITS: DoorLimits = {
  total: 10_000,
  waitingPerIdentity: 512,
  perIdentity: { connections: 4_096, opensPerSecond: 2_000, heldBytes: 256 * MEBIBYTE },
  perCluster: { connections: 8_192, opensPerSecond: 4_000, heldBytes: 384 * MEBIBYTE },
  heldBytes: 512 * MEBIBYTE,
};

/** A slot among the connections; calling either more than once does nothing. */
export interface Slot {
  /** Which cluster it is for, once that is known. RATE_LIMITED when that has too much. */
  useCluster(clusterId: string): void;
  /** The target is there, or is not to be had. */
  opened(): void;
  /** The connection is over. */
  release(): void;
}

/** Who may still come through a door. Decides at once: nobody ever waits for a slot. */
export class DoorLimiter {
  readonly #door: DoorName;
  readonly #limits: DoorLimits;
  readonly #live: LiveConnections;
  readonly #identities: UsageLimit;
  readonly #clusters: UsageLimit;
  readonly #waiting: ConcurrencyLimit;
  #total = 0;

  constructor(door: DoorName, limits: DoorLimits, live: LiveConnections) {
    this.#door = door;
    this.#limits = limits;
    this.#live = live;
    const { whose, kind } = DOORS[door];
    const what = kind === 'request' ? 'requests' : 'connections';
    this.#identities = new UsageLimit(whose, what, limits.perIdentity);
    this.#clusters = new UsageLimit('this cluster', what, limits.perCluster);
    this.#waiting = new ConcurrencyLimit({ total: Infinity, perKey: limits.waitingPerIdentity });
  }

  get total(): number {
    return this.#total;
  }

  /** `identity`: its `limitKey`. RATE_LIMITED when it has too much, UNAVAILABLE when the replica has. */
  take(identity: string, nowMs: number = performance.now()): Slot {
    this.#assertRoom();
    const opened = this.#waiting.take(identity);
    if (!opened) {
      const { waitingPerIdentity } = this.#limits;
      throw new FairleadError(
        'RATE_LIMITED',
        `${waitingPerIdentity} connections of this identity wait for their targets`,
      );
    }
    using taken = new DisposableStack();
    taken.defer(opened);
    taken.defer(this.#identities.take(identity, this.#live.held.of(this.#door, identity), nowMs));
    taken.defer(() => (this.#total -= 1));
    this.#total += 1;
    const held = taken.move();
    return {
      useCluster: (clusterId) => {
        held.defer(this.#clusters.take(clusterId, this.#live.held.ofCluster(clusterId), nowMs));
      },
      opened,
      release: () => held.dispose(),
    };
  }

  #assertRoom(): void {
    const { total, heldBytes } = this.#limits;
    if (this.#total >= total) throw new FairleadError('UNAVAILABLE', 'this replica has no room for more connections');
    if (this.#live.held.total > heldBytes) {
      throw new FairleadError('UNAVAILABLE', 'this replica holds too much that nobody takes');
    }
  }
}

export interface UsageLimits {
  /** At once. */
  readonly connections: number;
  /** Opened in a second, on average; twice as many may come at once. */
  readonly opensPerSecond: number;
  /** What all of its connections may hold in this process when another one comes. */
  readonly heldBytes: number;
}

/** Limits what each of many (clients, users, clusters) uses, so that one in excess is refused and nobody else waits. */
export class UsageLimit {
  readonly #whose: string;
  readonly #what: string;
  readonly #limits: UsageLimits;
  readonly #connections: ConcurrencyLimit;
  readonly #opens: KeyedRateLimit;

  /** `whose` begins the messages, as in "this client"; `what` is what it has too many of. */
  constructor(whose: string, what: 'requests' | 'connections', limits: UsageLimits) {
    this.#whose = whose;
    this.#what = what;
    this.#limits = limits;
    const { connections, opensPerSecond } = limits;
    this.#connections = new ConcurrencyLimit({ total: Infinity, perKey: connections });
    this.#opens = new KeyedRateLimit({ burst: 2 * opensPerSecond, perSecond: opensPerSecond });
  }

  /** Counts one connection until the result is called. RATE_LIMITED, naming the limit, if there is no room. */
  take(key: string, heldBytes: number, nowMs: number): () => void {
    const { connections, opensPerSecond, heldBytes: mostBytes } = this.#limits;
    if (this.#connections.isUsedUp(key)) throw limited(`${this.#whose} has ${connections} ${this.#what} open already`);
    if (heldBytes > mostBytes) {
      throw limited(`the ${this.#what} of ${this.#whose} hold ${mebibytes(heldBytes)} MiB that nobody takes`);
    }
    const release = this.#opens.take(key, nowMs) ? this.#connections.take(key) : null;
    if (!release) throw limited(`${this.#whose} opens more than ${opensPerSecond} ${this.#what} a second`);
    return release;
  }
}

function limited(message: string): FairleadError {
  return new FairleadError('RATE_LIMITED', message);
}

const mebibytes = (bytes: number): number => Math.round(bytes / 1024 ** 2);
