import { BoundedMap } from './bounded-map.js';
import { networkOf } from './network-of.js';
import { TokenBucket, type MonotonicClock, type Rate } from './token-bucket.js';

/** Of one address without an identity (IPv6: a /64), user or cluster, and of each kind of line. */
const LINES: Rate = { burst: 100, perSecond: 2 };
/** Of all addresses without an identity: who has one network may have thousands. */
const UNAUTHENTICATED: Rate = { burst: 1_000, perSecond: 20 };
/** Above it the one that was heard of longest ago is forgotten, with its count. */
const MAX_KEYS = 10_000;

/** Who caused a line: whoever proved itself, or else where it came from. */
export interface LogCause {
  readonly address: string;
  readonly user?: string | undefined;
  readonly clusterId?: string | undefined;
}

/** What to add to a line: how many like it were left out since the last one, if any. */
export interface SuppressedLines {
  readonly suppressed?: number;
}

interface Counted {
  readonly bucket: TokenBucket;
  suppressed: number;
}

/**
 * Log lines that a peer can cause as fast as the network carries its requests: beyond a rate of their cause they are left out, and the next one
 * that is written says how many were (`suppressed`). Peers without an identity have a rate together, too; no line of theirs takes one of a user or cluster.
 */
export class RateLimitedLog {
  readonly #clock: MonotonicClock;
  readonly #causes = new BoundedMap<string, Counted>({ max: MAX_KEYS, overflow: 'forget-oldest' });
  readonly #unauthenticated: Counted;

  constructor(clock: MonotonicClock = { monotonicMs: () => performance.now() }) {
    this.#clock = clock;
    this.#unauthenticated = { bucket: new TokenBucket(UNAUTHENTICATED, clock.monotonicMs()), suppressed: 0 };
  }

  /** What to add to the line; null if it is to be left out. */
  next({ address, user, clusterId }: LogCause): SuppressedLines | null {
    if (user !== undefined) return this.nextOf(`user ${user}`);
    if (clusterId !== undefined) return this.nextOf(`cluster ${clusterId}`);
    const peer = this.#counted(networkOf(address));
    if (!this.#take(peer)) return null;
    if (!this.#take(this.#unauthenticated)) return null;
    return told(peer, this.#unauthenticated);
  }

  /** The same for what is neither, of which there are not many: nobody without an identity can make one up. */
  nextOf(cause: string): SuppressedLines | null {
    const counted = this.#counted(cause);
    return this.#take(counted) ? told(counted) : null;
  }

  #take(counted: Counted): boolean {
    if (counted.bucket.take(this.#clock.monotonicMs())) return true;
    counted.suppressed += 1;
    return false;
  }

  #counted(key: string): Counted {
    const counted = this.#causes.get(key) ?? {
      bucket: new TokenBucket(LINES, this.#clock.monotonicMs()),
      suppressed: 0,
    };
    this.#causes.set(key, counted);
    return counted;
  }
}

function told(...all: Counted[]): SuppressedLines {
  const suppressed = all.reduce((sum, counted) => sum + counted.suppressed, 0);
  for (const counted of all) counted.suppressed = 0;
  return suppressed > 0 ? { suppressed } : {};
}
