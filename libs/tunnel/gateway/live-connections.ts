import type { FairleadError } from '@fairlead/errors';

export type DoorName = 'connect' | 'kube-api';

/** Something that goes through a door now: a CONNECT connection, or one request at the Kubernetes API door. */
export interface LiveConnection {
  readonly door: DoorName;
  /** Tunnel id or trace id: what its log line will have. */
  readonly id: string;
  /** Client id or user. */
  readonly who: string;
  readonly tenantId: string;
  readonly clusterId: string;
  /** Where the client is. */
  readonly address: string;
  readonly sinceMs: number;
  /** `host:port`, at the CONNECT door. */
  readonly target?: string;
  /** Payload so far; up is towards the cluster. */
  bytesUp(): number;
  bytesDown(): number;
  /** Taken in and not passed on yet, in this process. */
  heldBytes(): number;
  /** Why it would be refused if it came now; null if it would not. */
  refusedNow(): FairleadError | null;
  /** Breaks it off. */
  end(cause: FairleadError): void;
}

export interface Held {
  readonly total: number;
  of(door: DoorName, who: string): number;
  ofCluster(clusterId: string): number;
}

/** What goes through this replica's doors. */
export class LiveConnections {
  readonly #all = new Set<LiveConnection>();
  readonly #onEnd: ((connection: LiveConnection) => void)[] = [];
  #held = new Map<string, number>();

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

  /** Adds up what is held. Between two calls `held` says what it was at the first. */
  measure(): void {
    const held = new Map<string, number>();
    const add = (key: string, bytes: number): void => void held.set(key, (held.get(key) ?? 0) + bytes);
    for (const connection of this.#all) {
      const bytes = connection.heldBytes();
      add(TOTAL, bytes);
      add(whoKey(connection.door, connection.who), bytes);
      add(clusterKey(connection.clusterId), bytes);
    }
    this.#held = held;
  }

  get held(): Held {
    const held = this.#held;
    return {
      total: held.get(TOTAL) ?? 0,
      of: (door, who) => held.get(whoKey(door, who)) ?? 0,
      ofCluster: (clusterId) => held.get(clusterKey(clusterId)) ?? 0,
    };
  }
}

const TOTAL = 'total';
const whoKey = (door: DoorName, who: string): string => `who ${door} ${who}`;
const clusterKey = (clusterId: string): string => `cluster ${clusterId}`;
