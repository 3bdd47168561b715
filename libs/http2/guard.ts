import { TokenBucket } from '@fairlead/clock';
import { SessionError } from './errors.js';
import type { AbuseLimits } from './options.js';
import { CODE } from './wire/constants.js';

const VIOLATIONS: Readonly<Record<keyof AbuseLimits, string>> = {
  pings: 'ping-flood',
  settings: 'settings-flood',
  resets: 'reset-flood',
  largeHeaders: 'header-flood',
  invalidFrames: 'invalid-frames',
  refusedStreams: 'stream-flood',
};

/** Counts what a peer does that costs us more than it. */
export class Guard {
  readonly #limits: AbuseLimits;
  readonly #budgets = new Map<keyof AbuseLimits, TokenBucket>();

  constructor(limits: AbuseLimits) {
    this.#limits = limits;
  }

  /** Throws SessionError if that was one too many. */
  count(what: keyof AbuseLimits): void {
    const nowMs = performance.now();
    const budget = this.#budgets.get(what) ?? new TokenBucket(this.#limits[what], nowMs);
    this.#budgets.set(what, budget);
    if (budget.take(nowMs)) return;
    const violation = VIOLATIONS[what];
    throw new SessionError(CODE.enhanceYourCalm, `the peer does more than any honest one: ${violation}`, violation);
  }
}
