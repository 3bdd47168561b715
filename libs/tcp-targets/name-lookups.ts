import { lookup } from 'node:dns/promises';
import { FairleadError } from '@fairlead/errors';
import { BoundedMap, KeyedRateLimit, type Rate } from '@fairlead/limits';

/** All addresses of a name, in the order to try them. */
export type Resolve = (name: string) => Promise<readonly string[]>;

export interface NameLookupsOptions {
  /** Default: the resolver of the system, which knows the search domains of a pod. */
  readonly resolve?: Resolve;
  /** Lookups under way; what is beyond waits. Default: what leaves a thread to the agent's own dials. */
  readonly atOnce?: number;
  /** How long a name may wait for its turn. Default 5 s. */
  readonly waitMs?: number;
  /** What one of several askers may have, none of whom is to keep the others waiting. Default: all there is. */
  readonly perAsker?: AskerLimits;
  /** For how long a name that could not be resolved is not asked for again. Default 0. */
  readonly failureMs?: number;
}

export interface AskerLimits {
  /** Lookups under way: a slow one cannot be cancelled. */
  readonly atOnce: number;
  readonly waiting: number;
  readonly rate: Rate;
}

/** Names that wait for their turn; those beyond are refused. */
export const MAX_WAITING_NAMES = 256;
const WAIT_MS = 5_000;
/** Names whose failure is remembered; the oldest is forgotten first. */
const MAX_FAILURES = 1_000;

interface Lookup {
  readonly name: string;
  readonly waiters: Set<Waiter>;
  /** Who asked for it; it begins as soon as one of them may have one more under way. */
  readonly askers: Set<string>;
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
 * nobody waits for any more does not begin. Of several askers each may have a part of them.
 */
export class NameLookups {
  readonly #resolve: Resolve;
  readonly #atOnce: number;
  readonly #waitMs: number;
  readonly #byName = new Map<string, Lookup>();
  /** In the order in which they came. */
  readonly #waiting = new Set<Lookup>();
  /** For whom lookups are under way. */
  readonly #running: string[] = [];
  readonly #perAsker: AskerLimits | null;
  readonly #rates: KeyedRateLimit | null;
  readonly #failureMs: number;
  readonly #failures = new BoundedMap<string, { readonly error: unknown; readonly untilMs: number }>({
    max: MAX_FAILURES,
    overflow: 'forget-oldest',
  });

  constructor(options: NameLookupsOptions = {}) {
    this.#resolve = options.resolve ?? resolveBySystem;
    this.#atOnce = options.atOnce ?? lookupsAtOnce(process.env['UV_THREADPOOL_SIZE']);
    this.#waitMs = options.waitMs ?? WAIT_MS;
    this.#perAsker = options.perAsker ?? null;
    this.#rates = this.#perAsker && new KeyedRateLimit(this.#perAsker.rate);
    this.#failureMs = options.failureMs ?? 0;
  }

  /**
   * Rejects with what the resolver says, or said a moment ago; RATE_LIMITED if this asker wants too many, TARGET_UNREACHABLE if there are too many
   * others; or the signal's reason.
   */
  lookup(name: string, signal: AbortSignal, asker = ''): Promise<readonly string[]> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      this.#assertNotFailed(name);
      const found = this.#byName.get(name) ?? this.#enqueue(name, asker);
      found.askers.add(asker);
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

  #assertNotFailed(name: string): void {
    const failed = this.#failures.get(name);
    if (!failed) return;
    if (performance.now() < failed.untilMs) throw failed.error;
    this.#failures.delete(name);
  }

  #assertMayAsk(asker: string): void {
    if (!this.#perAsker || !this.#rates) return;
    const waiting = [...this.#waiting].filter(({ askers }) => askers.has(asker)).length;
    if (waiting < this.#perAsker.waiting && this.#rates.take(asker, performance.now())) return;
    throw new FairleadError('RATE_LIMITED', 'too many names are asked for; wait a moment');
  }

  #enqueue(name: string, asker: string): Lookup {
    this.#assertMayAsk(asker);
    if (this.#waiting.size >= MAX_WAITING_NAMES) throw tooMany(name);
    const waiting: Lookup = { name, waiters: new Set(), askers: new Set([asker]), timer: null };
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
      if (this.#running.length >= this.#atOnce) return;
      const asker = [...first.askers].find((each) => this.#mayRun(each));
      if (asker === undefined) continue;
      this.#waiting.delete(first);
      clearTimeout(first.timer ?? undefined);
      void this.#run(first, asker);
    }
  }

  #mayRun(asker: string): boolean {
    const { atOnce } = this.#perAsker ?? { atOnce: Infinity };
    return this.#running.filter((each) => each === asker).length < atOnce;
  }

  async #run(lookup: Lookup, asker: string): Promise<void> {
    this.#running.push(asker);
    let tell: (waiter: Waiter) => void;
    try {
      const addresses = await this.#resolve(lookup.name);
      tell = (waiter) => waiter.resolve(addresses);
    } catch (error) {
      this.#remember(lookup.name, error);
      tell = (waiter) => waiter.reject(error);
    }
    this.#running.splice(this.#running.indexOf(asker), 1);
    this.#forget(lookup);
    for (const waiter of lookup.waiters) tell(waiter);
    this.#next();
  }

  #remember(name: string, error: unknown): void {
    if (this.#failureMs === 0) return;
    this.#failures.set(name, { error, untilMs: performance.now() + this.#failureMs });
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
