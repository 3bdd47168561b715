import { lookup } from 'node:dns/promises';
import { FairleadError } from '@fairlead/errors';

/** All addresses of a name, in the order to try them. */
export type Resolve = (name: string) => Promise<readonly string[]>;

export interface NameLookupsOptions {
  /** Default: the resolver of the system, which knows the search domains of a pod. */
  readonly resolve?: Resolve;
  /** Lookups under way; what is beyond waits. Default: what leaves a thread to the agent's own dials. */
  readonly atOnce?: number;
  /** How long a name may wait for its turn. Default 5 s. */
  readonly waitMs?: number;
}

/** Names that wait for their turn; those beyond are refused. */
export const MAX_WAITING_NAMES = 256;
const WAIT_MS = 5_000;

interface Lookup {
  readonly name: string;
  readonly waiters: Set<Waiter>;
  /** Until when it may wait; null once it is under way. */
  timer: NodeJS.Timeout | null;
}

interface Waiter {
  resolve(addresses: readonly string[]): void;
  reject(error: unknown): void;
}

const resolveBySystem: Resolve = async (name) =>
  (await lookup(name, { all: true, verbatim: true })).map(({ address }) => address);

/**
 * How many lookups may run and still leave the agent one of its own. getaddrinfo blocks a thread of libuv's pool, cannot
 * be cancelled, and libuv gives such work half of its threads (docs.libuv.org/en/v1.x/threadpool.html): 2 of 4 by default.
 * `poolSize` is UV_THREADPOOL_SIZE.
 */
export function lookupsAtOnce(poolSize: string | undefined): number {
  const threads = poolSize === undefined ? 4 : Math.min(Math.max(Math.trunc(Number(poolSize)) || 1, 1), 1_024);
  return Math.max(1, Math.floor((threads + 1) / 2) - 1);
}

/**
 * Resolves the names that others ask for. A name that answers slowly takes threads from all that this process resolves, so
 * these are few at a time, one for all who ask for the same name, and as many as fit wait for a while. A lookup that
 * nobody waits for any more does not begin.
 */
export class NameLookups {
  readonly #resolve: Resolve;
  readonly #atOnce: number;
  readonly #waitMs: number;
  readonly #byName = new Map<string, Lookup>();
  /** In the order in which they came. */
  readonly #waiting = new Set<Lookup>();
  #running = 0;

  constructor(options: NameLookupsOptions = {}) {
    this.#resolve = options.resolve ?? resolveBySystem;
    this.#atOnce = options.atOnce ?? lookupsAtOnce(process.env['UV_THREADPOOL_SIZE']);
    this.#waitMs = options.waitMs ?? WAIT_MS;
  }

  /** Rejects with what the resolver says, TARGET_UNREACHABLE if there are too many others, or the signal's reason. */
  lookup(name: string, signal: AbortSignal): Promise<readonly string[]> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const found = this.#byName.get(name) ?? this.#enqueue(name);
      const settle = (): void => {
        signal.removeEventListener('abort', onAbort);
        found.waiters.delete(waiter);
      };
      const waiter: Waiter = {
        resolve: (addresses) => {
          settle();
          resolve(addresses);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      };
      const onAbort = (): void => {
        waiter.reject(signal.reason);
        if (found.waiters.size === 0 && this.#waiting.has(found)) this.#forget(found);
      };
      signal.addEventListener('abort', onAbort);
      found.waiters.add(waiter);
      this.#next();
    });
  }

  #enqueue(name: string): Lookup {
    if (this.#waiting.size >= MAX_WAITING_NAMES) throw tooMany(name);
    const waiting: Lookup = { name, waiters: new Set(), timer: null };
    waiting.timer = setTimeout(() => {
      this.#forget(waiting);
      for (const waiter of waiting.waiters) waiter.reject(tooMany(name));
    }, this.#waitMs);
    this.#byName.set(name, waiting);
    this.#waiting.add(waiting);
    return waiting;
  }

  #next(): void {
    for (const first of this.#waiting) {
      if (this.#running >= this.#atOnce) return;
      this.#waiting.delete(first);
      clearTimeout(first.timer ?? undefined);
      void this.#run(first);
    }
  }

  async #run(lookup: Lookup): Promise<void> {
    this.#running += 1;
    let tell: (waiter: Waiter) => void;
    try {
      const addresses = await this.#resolve(lookup.name);
      tell = (waiter) => waiter.resolve(addresses);
    } catch (error) {
      tell = (waiter) => waiter.reject(error);
    }
    this.#running -= 1;
    this.#forget(lookup);
    for (const waiter of lookup.waiters) tell(waiter);
    this.#next();
  }

  #forget(lookup: Lookup): void {
    clearTimeout(lookup.timer ?? undefined);
    this.#waiting.delete(lookup);
    this.#byName.delete(lookup.name);
  }
}

function tooMany(name: string): FairleadError {
  return new FairleadError(
    'TARGET_UNREACHABLE',
    `${name} cannot be resolved now: too many other names are being resolved there; try again later`,
  );
}
