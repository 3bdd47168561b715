import { TokenBucket } from '@fairlead/limits';
import { SessionError } from './errors.js';
import type { AbuseLimits, Allowance } from './options.js';
import { CODE } from './wire/constants.js';

const VIOLATIONS: Readonly<Record<keyof AbuseLimits, string>> = {
  requests: 'request-flood',
  pings: 'ping-flood',
  settings: 'settings-flood',
  resets: 'reset-flood',
  largeHeaders: 'header-flood',
  invalidFrames: 'invalid-frames',
  refusedStreams: 'stream-flood',
  windowUpdates: 'window-update-flood',
  ignoredFrames: 'ignored-frames',
};

const UNAUTHENTICATED = 'unauthenticated-flood';

/** Counts what a peer does that costs us more than it. */
export class Guard {
  readonly #limits: AbuseLimits;
  readonly #budgets = new Map<keyof AbuseLimits, TokenBucket>();
  /** Null once the peer has shown who it is. */
  allowance: Allowance | null = null;

  constructor(limits: AbuseLimits) {
    this.#limits = limits;
  }

  /** Throws SessionError if that was one too many. */
  count(what: keyof AbuseLimits): void {
    const nowMs = performance.now();
    const budget = this.#budgets.get(what) ?? new TokenBucket(this.#limits[what], nowMs);
    this.#budgets.set(what, budget);
    if (budget.take(nowMs)) return;
    throw tooMuch(VIOLATIONS[what]);
  }

  /** Throws SessionError if the peer may not have sent so much before it shows who it is. */
  onRead(bytes: number): void {
    if (this.allowance?.mayRead(bytes) === false) throw tooMuch(UNAUTHENTICATED);
  }

  /** The same for one more frame. */
  onFrame(): void {
    if (this.allowance?.mayBeginFrame() === false) throw tooMuch(UNAUTHENTICATED);
  }
}

function tooMuch(violation: string): SessionError {
  return new SessionError(CODE.enhanceYourCalm, `the peer does more than any honest one: ${violation}`, violation);
}
