import { BoundedMap } from './bounded-map.js';
import { networkOf } from './network-of.js';

/** Who was ended comes back within seconds, or not at all. */
const EXPECTED_MS = 30_000;
/** Of one network. It can be no more than connections at once, and those have limits of their own. */
const MOST_EXPECTED = 1_024;
const MOST_NETWORKS = 10_000;

interface Expected {
  readonly connections: number;
  readonly sinceMs: number;
}

/**
 * How many connections of each network (IPv6: a /64) were ended for what they did, and are expected to be dialled anew. Only who broke the rules counts: a
 * crowd that comes back after a restart has ended none. What it remembers is bounded.
 */
export class ReturningOffenders {
  readonly #expected = new BoundedMap<string, Expected>({ max: MOST_NETWORKS, overflow: 'forget-oldest' });
  readonly #nowMs: () => number;

  /** `nowMs`: of a clock that never goes back. */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** A connection of this address was ended for what it did. */
  note(address: string): void {
    const network = networkOf(address);
    const connections = Math.min(MOST_EXPECTED, this.#of(network) + 1);
    this.#expected.set(network, { connections, sinceMs: this.#nowMs() });
  }

  /** Takes a new connection of this network for one of those that are expected, if there are any. */
  take(network: string): boolean {
    const connections = this.#of(network);
    if (connections === 0) return false;
    const sinceMs = this.#expected.get(network)?.sinceMs ?? 0;
    if (connections === 1) this.#expected.delete(network);
    else this.#expected.set(network, { connections: connections - 1, sinceMs });
    return true;
  }

  #of(network: string): number {
    const known = this.#expected.get(network);
    if (!known) return 0;
    if (this.#nowMs() - known.sinceMs <= EXPECTED_MS) return known.connections;
    this.#expected.delete(network);
    return 0;
  }
}
