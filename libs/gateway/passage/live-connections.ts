import type { PassageKind } from '@fairlead/contracts';
import type { FairleadError } from '@fairlead/errors';
import { limitKey } from '../limits/limit-key.js';
import type { DoorName } from './door-table.js';

/** For people: what it is, whose, and by which replica it goes on. */
export interface ShownPassage extends PassageSubject {
  readonly cluster: string;
  readonly user: string;
  readonly as: string | null;
  readonly owner: string | null;
}

/** What somebody does: how it is told apart from others, and what with. */
export interface PassageSubject {
  readonly kind: PassageKind;
  readonly target: string;
}

/** Something that goes through a door now: a CONNECT connection, one request at the Kubernetes API door, a connection out of a cluster. */
export interface LiveConnection {
  readonly door: DoorName;
  /** Tunnel id, or request id as long as it has none: its log line will have it. */
  readonly id: string;
  /** Client id, user, or the cluster that it comes out of. */
  readonly who: string;
  readonly tenantId: string;
  readonly clusterId: string;
  /** Where the client is; of a connection out of a cluster, its agent. */
  readonly address: string;
  readonly sinceMs: number;
  /** `host:port`, but at the Kubernetes API door. */
  readonly target?: string;
  /** What people are shown of it, made when they ask. */
  shown(): ShownPassage;
  /** Payload so far; up is towards the cluster. */
  bytesUp(): number;
  bytesDown(): number;
  /** Taken in and not passed on yet, in this process. */
  heldBytes(): number;
  /** Why it would be refused if it came now; null if it would not. */
  refusedNow(): FairleadError | null;
  /** Asked of one that would be refused: has time alone done that, so that it is certain also while nothing new is heard? Absent: it has not. */
  lapsedNow?(): boolean;
  /** Breaks it off. */
  end(cause: FairleadError): void;
  /** The replica shuts down: ends it so that its peer hears why. Absent, or false: its peer can hear nothing, and it ends with the link that it goes by. */
  readonly leave?: (cause: FairleadError) => boolean;
}

/** Sums of what connections hold. */
export class Held {
  #total = 0;
  readonly #byWho = new Map<DoorName, Map<string, number>>();
  readonly #byCluster = new Map<string, number>();

  add({ door, tenantId, who, clusterId }: LiveConnection, bytes: number): void {
    if (bytes === 0) return;
    this.#total += bytes;
    const byWho = this.#byWho.get(door) ?? new Map<string, number>();
    this.#byWho.set(door, byWho);
    const key = limitKey(tenantId, who);
    byWho.set(key, (byWho.get(key) ?? 0) + bytes);
    this.#byCluster.set(clusterId, (this.#byCluster.get(clusterId) ?? 0) + bytes);
  }

  get total(): number {
    return this.#total;
  }

  /** `key`: a `limitKey`. */
  of(door: DoorName, key: string): number {
    return this.#byWho.get(door)?.get(key) ?? 0;
  }

  ofCluster(clusterId: string): number {
    return this.#byCluster.get(clusterId) ?? 0;
  }
}

/** What goes through this replica's doors. */
export class LiveConnections {
  readonly #all = new Set<LiveConnection>();
  readonly #onEnd: ((connection: LiveConnection) => void)[] = [];
  /** What they held when it was last added up. */
  held = new Held();

  /** Call the result when it is over; more often than once does nothing. */
  add(connection: LiveConnection): () => void {
    this.#all.add(connection);
    return () => {
      if (!this.#all.delete(connection)) return;
      for (const listener of this.#onEnd) listener(connection);
    };
  }

  /** Calls back when one is over, while its counts can still be read. */
  onEnd(listener: (connection: LiveConnection) => void): void {
    this.#onEnd.push(listener);
  }

  [Symbol.iterator](): IterableIterator<LiveConnection> {
    return this.#all.values();
  }

  get size(): number {
    return this.#all.size;
  }
}
