import { Buckets, networkOf, type Rate } from '@fairlead/clock';
import { FairleadError } from '@fairlead/errors';

/** Failed tries per network in one window, with those under way. Those that succeed do not count: a fleet may come from one address. */
const FAILURES = 30;
const WINDOW_MS = 60_000;
/** Networks remembered; above it the oldest is forgotten, so that memory is bounded whatever comes. */
const MAX_NETWORKS = 10_000;

/** Questions of agents without a token, per network: a fleet behind one address asks every half minute each. */
const UNINVITED: Rate = { burst: 100, perSecond: 10 };

interface Window {
  readonly startedMs: number;
  tries: number;
}

/** Slows down guessing: a fixed window per source address, or /64 of IPv6. */
export class EnrolmentLimiter {
  readonly #uninvited = new Buckets(UNINVITED, MAX_NETWORKS);
  readonly #windows = new Map<string, Window>();

  /**
   * Counts a try as a failure before its outcome is known, so that many at once are no way around; what it returns takes that
   * back, for one that did not fail. RATE_LIMITED if this network failed too often, or has so many under way.
   */
  admit(address: string, nowMs: number = Date.now()): () => void {
    const network = networkOf(address);
    const window = this.#windowOf(network, nowMs);
    if (window.tries >= FAILURES) {
      throw new FairleadError('RATE_LIMITED', 'too many enrolments from this address failed or wait; wait a minute');
    }
    window.tries += 1;
    let counted = true;
    return () => {
      if (!counted) return;
      counted = false;
      window.tries -= 1;
      if (window.tries === 0 && this.#windows.get(network) === window) this.#windows.delete(network);
    };
  }

  /** Throws RATE_LIMITED if too many agents without a token ask from this network. */
  admitUninvited(address: string, nowMs: number = Date.now()): void {
    if (this.#uninvited.take(networkOf(address), nowMs)) return;
    throw new FairleadError('RATE_LIMITED', 'too many agents without a token ask from this address; wait a moment');
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
