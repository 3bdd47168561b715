import { FairleadError } from '@fairlead/errors';
import { ConcurrencyLimit, KeyedRateLimit, type ConcurrencyLimits, type Rate } from '@fairlead/limits';

/** Enrolments at once, in this process, and of one gateway: half of what the service answers at once is left to everything else. */
const AT_ONCE: ConcurrencyLimits = { total: 128, perKey: 64 };
/** Of one key, by one gateway. An agent that waits asks every 15 to 45 seconds; the burst is for one that is restarted, and for lost answers. */
const QUESTIONS: Rate = { burst: 10, perSecond: 1 / 10 };
/** Keys remembered, of all gateways; above it the oldest is forgotten, so that memory is bounded whatever comes. */
const REMEMBERED = 20_000;

/**
 * Bounds what enrolments may take of this process, whatever gateways let through, and if one is in wrong hands. Questions are counted by the key that
 * asks, which only its holder can ask with, and by gateway, since one may repeat what it carried: nobody uses up another one's.
 */
export class EnrolmentLimit {
  readonly #limit = new ConcurrencyLimit(AT_ONCE);
  readonly #questions = new KeyedRateLimit(QUESTIONS, REMEMBERED);

  /** Counts one question against the limit, before anything is done for it. What it returns takes it off the count. RATE_LIMITED. */
  take(gateway: string): () => void {
    const giveBack = this.#limit.take(gateway);
    if (giveBack) return giveBack;
    throw new FairleadError('RATE_LIMITED', 'too many enrolments are under way; wait a moment');
  }

  /** Whoever has this key (its fingerprint) asks again. RATE_LIMITED. */
  ask(gateway: string, spkiSha256: string, nowMs: number = performance.now()): void {
    if (this.#questions.take(`${gateway} ${spkiSha256}`, nowMs)) return;
    throw new FairleadError('RATE_LIMITED', 'this agent asks for its enrolment too often; wait ten seconds');
  }
}
