import { TokenBucket, type Rate } from '@fairlead/clock';
import { FairleadError } from '@fairlead/errors';

/** Failed tries per address in one window. Those that succeed do not count: a fleet may come from one address. */
const FAILURES = 30;
const WINDOW_MS = 60_000;
/** Addresses remembered; above it the oldest is forgotten, so that memory is bounded whatever comes. */
const MAX_ADDRESSES = 10_000;

/** Questions of agents without a token, per address: a fleet behind one address asks every half minute each. */
const UNINVITED: Rate = { burst: 100, perSecond: 10 };

/** Slows down guessing: a fixed window per source address. */
export class EnrolmentLimiter {
  readonly #uninvited = new Map<string, TokenBucket>();
  readonly #windows = new Map<string, { startedMs: number; failures: number }>();

  /** Throws RATE_LIMITED if this address failed too often. */
  admit(address: string, nowMs: number = Date.now()): void {
    const window = this.#windows.get(address);
    if (window && nowMs - window.startedMs <= WINDOW_MS && window.failures >= FAILURES) {
      throw new FairleadError('RATE_LIMITED', 'too many failed enrolments from this address; wait a minute');
    }
  }

  /** Throws RATE_LIMITED if too many agents without a token ask from this address. */
  admitUninvited(address: string, nowMs: number = Date.now()): void {
    const bucket = this.#uninvited.get(address) ?? new TokenBucket(UNINVITED, nowMs);
    this.#uninvited.delete(address);
    this.#uninvited.set(address, bucket);
    const oldest = this.#uninvited.keys().next();
    if (this.#uninvited.size > MAX_ADDRESSES && !oldest.done) this.#uninvited.delete(oldest.value);
    if (bucket.take(nowMs)) return;
    throw new FairleadError('RATE_LIMITED', 'too many agents without a token ask from this address; wait a moment');
  }

  /** An enrolment from this address was refused. */
  failed(address: string, nowMs: number = Date.now()): void {
    let window = this.#windows.get(address);
    if (!window || nowMs - window.startedMs > WINDOW_MS) {
      this.#windows.delete(address);
      window = { startedMs: nowMs, failures: 0 };
      this.#windows.set(address, window);
      const oldest = this.#windows.keys().next();
      if (this.#windows.size > MAX_ADDRESSES && !oldest.done) this.#windows.delete(oldest.value);
    }
    window.failures += 1;
  }
}
