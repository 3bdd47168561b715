import { FairleadError } from '@fairlead/errors';

/** Tries per address in one window; a cluster behind one address enrols far fewer agents than this. */
const TRIES = 30;
const WINDOW_MS = 60_000;
/** Addresses remembered; above it the oldest is forgotten, so that memory is bounded whatever comes. */
const MAX_ADDRESSES = 10_000;

/** Slows down guessing: a fixed window per source address. */
export class EnrolmentLimiter {
  readonly #windows = new Map<string, { startedMs: number; tries: number }>();

  /** Throws RATE_LIMITED if this address tried too often. */
  admit(address: string, nowMs: number = Date.now()): void {
    let window = this.#windows.get(address);
    if (!window || nowMs - window.startedMs > WINDOW_MS) {
      this.#windows.delete(address);
      window = { startedMs: nowMs, tries: 0 };
      this.#windows.set(address, window);
      const oldest = this.#windows.keys().next();
      if (this.#windows.size > MAX_ADDRESSES && !oldest.done) this.#windows.delete(oldest.value);
    }
    window.tries += 1;
    if (window.tries > TRIES) {
      throw new FairleadError('RATE_LIMITED', 'too many enrolments from this address; wait a minute');
    }
  }
}
