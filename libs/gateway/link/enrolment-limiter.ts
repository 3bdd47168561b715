import { FairleadError, type ErrorCode } from '@fairlead/errors';
import { KeyedRateLimit, networkOf, type Rate } from '@fairlead/limits';

/** Failed tries per network in one window, with those under way. Those that succeed do not count: a fleet may come from one address. */
const FAILURES = 30;
const WINDOW_MS = 60_000;
/** Networks remembered; above it the oldest is forgotten, so that memory is bounded whatever comes. */
const MAX_NETWORKS = 10_000;

/** Questions of agents without a token, per network: a fleet behind one address asks every half minute each. */
const UNINVITED: Rate = { burst: 100, perSecond: 10 };

/** A service that has too much to do, or did not answer in time. */
const BUSY: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['RATE_LIMITED', 'DEADLINE_EXCEEDED']);
/**
 * Turned away by a service that is busy, per network: each cost it work, and whoever holds a spent token gets one at will, so those beyond are failures. Were
 * all of them failures, a fleet that comes from one address while a service is busy would shut itself out for the rest of each minute.
 */
const TURNED_AWAY: Rate = { burst: 60, perSecond: 2 };
/** Questions of one waiting agent, by its token, per network: it asks every 15 to 45 seconds. Those beyond are failures. */
const WAITING: Rate = { burst: 10, perSecond: 0.2 };

/** Says how a try ended, once: without a failure, or with this code. One that never says so has failed. */
export type Settle = (code?: ErrorCode) => void;

interface Window {
  readonly startedMs: number;
  tries: number;
}

/** Slows down guessing: a fixed window per source address, or /64 of IPv6. */
export class EnrolmentLimiter {
  readonly #uninvited = new KeyedRateLimit(UNINVITED, MAX_NETWORKS);
  readonly #turnedAway = new KeyedRateLimit(TURNED_AWAY, MAX_NETWORKS);
  readonly #waiting = new KeyedRateLimit(WAITING, MAX_NETWORKS);
  readonly #windows = new Map<string, Window>();

  /**
   * Counts a try as a failure before its outcome is known, so that many at once are no way around; what it returns takes that
   * back, for one that did not fail. `asker`: what it shows; null: nothing, and `admitUninvited` slows it down.
   * RATE_LIMITED if this network failed too often, or has so many under way.
   */
  admit(address: string, asker: string | null, nowMs: number = Date.now()): Settle {
    const network = networkOf(address);
    const window = this.#windowOf(network, nowMs);
    if (window.tries >= FAILURES) {
      throw new FairleadError('RATE_LIMITED', 'too many enrolments from this address failed or wait; wait a minute');
    }
    window.tries += 1;
    let settled = false;
    return (code) => {
      if (settled) return;
      settled = true;
      if (code !== undefined && !this.#isForgiven(code, network, asker, nowMs)) return;
      window.tries -= 1;
      if (window.tries === 0 && this.#windows.get(network) === window) this.#windows.delete(network);
    };
  }

  /** Throws RATE_LIMITED if too many agents without a token ask from this network. */
  admitUninvited(address: string, nowMs: number = Date.now()): void {
    if (this.#uninvited.take(networkOf(address), nowMs)) return;
    throw new FairleadError('RATE_LIMITED', 'too many agents without a token ask from this address; wait a moment');
  }

  #isForgiven(code: ErrorCode, network: string, asker: string | null, nowMs: number): boolean {
    // What is away is nobody's failure.
    if (code === 'UNAVAILABLE') return true;
    if (BUSY.has(code)) return asker === null || this.#turnedAway.take(network, nowMs);
    if (code === 'ENROLMENT_PENDING') return asker === null || this.#waiting.take(`${network} ${asker}`, nowMs);
    return false;
  }

  #windowOf(network: string, nowMs: number): Window {
    const known = this.#windows.get(network);
    if (known && nowMs - known.startedMs <= WINDOW_MS) return known;
    const window = { startedMs: nowMs, tries: 0 };
    this.#windows.delete(network);
    this.#windows.set(network, window);
    const oldest = this.#windows.keys().next();
    if (this.#windows.size > MAX_NETWORKS && !oldest.done) this.#windows.delete(oldest.value);
    return window;
  }
}
