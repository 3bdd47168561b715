import { FairleadError } from '@fairlead/errors';
import { DOORS, type DoorName } from '../passage/door-table.js';
import type { LiveConnections } from '../passage/live-connections.js';
import { UsageLimit, type UsageLimits } from './usage-limit.js';

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

/** A place among the connections; calling either more than once does nothing. */
export interface Place {
  /** Which cluster it is for, once that is known. RATE_LIMITED when that has too much. */
  useCluster(clusterId: string): void;
  /** The target is there, or is not to be had. */
  opened(): void;
  /** The connection is over. */
  release(): void;
}

/** Who may still come through a door. Decides at once: nobody ever waits for a place. */
export class DoorLimiter {
  readonly #door: DoorName;
  readonly #limits: DoorLimits;
  readonly #live: LiveConnections;
  readonly #identities: UsageLimit;
  readonly #clusters: UsageLimit;
  readonly #waiting = new Map<string, number>();
  #total = 0;

  constructor(door: DoorName, limits: DoorLimits, live: LiveConnections) {
    this.#door = door;
    this.#limits = limits;
    this.#live = live;
    this.#identities = new UsageLimit(DOORS[door].whose, limits.perIdentity);
    this.#clusters = new UsageLimit('this cluster', limits.perCluster);
  }

  get total(): number {
    return this.#total;
  }

  /** RATE_LIMITED when this identity has too much, UNAVAILABLE when the replica has. */
  take(identity: string, nowMs: number = performance.now()): Place {
    this.#assertRoom();
    const waiting = this.#waiting.get(identity) ?? 0;
    if (waiting >= this.#limits.waitingPerIdentity) {
      throw new FairleadError('RATE_LIMITED', `${waiting} connections of this identity wait for their targets`);
    }
    const releases = [this.#identities.take(identity, this.#live.held.of(this.#door, identity), nowMs)];
    this.#waiting.set(identity, waiting + 1);
    this.#total += 1;
    const opened = onlyOnce(() => this.#stopWaiting(identity));
    return {
      useCluster: (clusterId) => {
        releases.push(this.#clusters.take(clusterId, this.#live.held.ofCluster(clusterId), nowMs));
      },
      opened,
      release: onlyOnce(() => {
        opened();
        this.#total -= 1;
        for (const release of releases) release();
      }),
    };
  }

  #assertRoom(): void {
    const { total, heldBytes } = this.#limits;
    if (this.#total >= total) throw new FairleadError('UNAVAILABLE', 'this replica has no room for more connections');
    if (this.#live.held.total > heldBytes) {
      throw new FairleadError('UNAVAILABLE', 'this replica holds too much that nobody takes');
    }
  }

  #stopWaiting(identity: string): void {
    const left = (this.#waiting.get(identity) ?? 1) - 1;
    if (left === 0) this.#waiting.delete(identity);
    else this.#waiting.set(identity, left);
  }
}

function onlyOnce(action: () => void): () => void {
  let done = false;
  return () => {
    if (!done) action();
    done = true;
  };
}
