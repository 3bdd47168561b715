import { FairleadError } from '@fairlead/errors';
import { TokenBucket } from '@fairlead/limits';

export interface UsageLimits {
  /** At once. */
  readonly connections: number;
  /** Opened in a second, on average; twice as many may come at once. */
  readonly opensPerSecond: number;
  /** What all of its connections may hold in this process when another one comes. */
  readonly heldBytes: number;
}

interface Usage {
  connections: number;
  readonly opens: TokenBucket;
}

/** Idle keys are forgotten beyond this many. */
const MAX_IDLE_KEYS = 10_000;

/** Limits what each of many (clients, users, clusters) uses, so that one in excess is refused and nobody else waits. */
export class UsageLimit {
  readonly #whose: string;
  readonly #limits: UsageLimits;
  readonly #usage = new Map<string, Usage>();

  /** `whose` begins the messages, as in "this client". */
  constructor(whose: string, limits: UsageLimits) {
    this.#whose = whose;
    this.#limits = limits;
  }

  /** Counts one connection until the result is called. RATE_LIMITED, naming the limit, if there is no room. */
  take(key: string, heldBytes: number, nowMs: number): () => void {
    const { connections, opensPerSecond, heldBytes: mostBytes } = this.#limits;
    const usage = this.#usageOf(key, nowMs);
    if (usage.connections >= connections) throw limited(`${this.#whose} has ${connections} connections open already`);
    if (heldBytes > mostBytes) {
      throw limited(`the connections of ${this.#whose} hold ${mebibytes(heldBytes)} MiB that nobody takes`);
    }
    if (!usage.opens.take(nowMs))
      throw limited(`${this.#whose} opens more than ${opensPerSecond} connections a second`);
    usage.connections += 1;
    let taken = true;
    return () => {
      if (taken) usage.connections -= 1;
      taken = false;
    };
  }

  #usageOf(key: string, nowMs: number): Usage {
    const known = this.#usage.get(key);
    if (known) return known;
    if (this.#usage.size >= MAX_IDLE_KEYS) this.#forgetIdle(nowMs);
    const { opensPerSecond } = this.#limits;
    const rate = { burst: 2 * opensPerSecond, perSecond: opensPerSecond };
    const usage = { connections: 0, opens: new TokenBucket(rate, nowMs) };
    this.#usage.set(key, usage);
    return usage;
  }

  #forgetIdle(nowMs: number): void {
    for (const [key, { connections, opens }] of this.#usage) {
      if (connections === 0 && opens.isFull(nowMs)) this.#usage.delete(key);
    }
  }
}

function limited(message: string): FairleadError {
  return new FairleadError('RATE_LIMITED', message);
}

const mebibytes = (bytes: number): number => Math.round(bytes / 1024 ** 2);
