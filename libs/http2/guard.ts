import { Budget } from './budget.js';
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
  readonly #budgets = new Map<keyof AbuseLimits, Budget>();

  constructor(limits: AbuseLimits) {
    this.#limits = limits;
  }

  /** Throws SessionError if that was one too many. */
  count(what: keyof AbuseLimits): void {
    const budget = this.#budgets.get(what) ?? new Budget(this.#limits[what]);
    this.#budgets.set(what, budget);
    if (budget.take()) return;
    const violation = VIOLATIONS[what];
    throw new SessionError(CODE.enhanceYourCalm, `the peer does more than any honest one: ${violation}`, violation);
  }
}
