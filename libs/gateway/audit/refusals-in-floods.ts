import { systemClock, type Clock } from '@fairlead/clock';
import { NO_TENANT, type LostPassages } from '@fairlead/contracts';
import { KeyedRateLimit, type Rate } from '@fairlead/limits';
import { causeOf, type Outcome } from '../passage/outcome.js';

/** Of all who proved nothing: a day of it at full rate is 12 MB. */
const OF_UNAUTHENTICATED: Rate = { burst: 100, perSecond: 0.2 };
/** Of each who did: more than people ask for that they may not, and less than a program does that asks again and again. */
const OF_IDENTITY: Rate = { burst: 300, perSecond: 1 };
/** How long they are added up. */
const SUM_MS = 10_000;
/** Users times doors times causes; those beyond are of nobody in particular. */
const MAX_SUMS = 512;

interface Sum {
  readonly whose: Pick<LostPassages, 'tenantId' | 'user'>;
  readonly what: string;
  readonly sinceMs: number;
  count: number;
}

/**
 * What was refused before it went anywhere, which costs whoever causes it next to nothing: the unauthenticated as fast as the network carries it, and whoever has one valid token. Some are kept one by
 * one; of the others the audit has how many there were, exactly, by user, door and cause. Memory is bounded. What cannot be kept now is added to what comes next.
 */
export class RefusalsInFloods {
  readonly #keep: (sum: LostPassages) => boolean;
  readonly #clock: Pick<Clock, 'monotonicMs' | 'nowMs'>;
  readonly #unauthenticated = new KeyedRateLimit(OF_UNAUTHENTICATED, 1);
  readonly #identities = new KeyedRateLimit(OF_IDENTITY);
  readonly #sums = new Map<string, Sum>();
  #timer: NodeJS.Timeout | undefined;

  /** `keep`: false if there is no room now. */
  constructor(keep: (sum: LostPassages) => boolean, clock: Pick<Clock, 'monotonicMs' | 'nowMs'> = systemClock) {
    this.#keep = keep;
    this.#clock = clock;
  }

  /** Is this one kept as it is? If not it was counted. What was let in, or has an intent on record, is none of these. */
  take(outcome: Outcome): boolean {
    const { decision, ending, intended, identity } = outcome;
    if (decision !== 'refused' || ending.kind !== 'failed' || intended) return true;
    const nowMs = this.#clock.monotonicMs();
    const hasToken = identity
      ? this.#identities.take(JSON.stringify([identity.tenantId, identity.id]), nowMs)
      : this.#unauthenticated.take('', nowMs);
    if (!hasToken) this.#count(outcome);
    return hasToken;
  }

  /** Writes down what was counted so far. */
  tell(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const [key, sum] of this.#sums) if (this.#keep(recordOf(sum))) this.#sums.delete(key);
    if (this.#sums.size > 0) this.#timer = setTimeout(() => this.tell(), SUM_MS).unref();
  }

  #count({ identity, ending, door }: Outcome): void {
    const known = this.#sumOf(
      identity?.tenantId ?? NO_TENANT,
      identity?.name.slice(0, 256) ?? '',
      causeOf(ending),
      door,
    );
    known.count += 1;
    this.#timer ??= setTimeout(() => this.tell(), SUM_MS).unref();
  }

  #sumOf(tenantId: string, user: string, cause: string, door: string): Sum {
    const key = JSON.stringify([tenantId, user, cause, door]);
    const known = this.#sums.get(key);
    if (known) return known;
    // One sum is kept for these.
    if (this.#sums.size >= MAX_SUMS - 1 && user !== '') return this.#sumOf(NO_TENANT, '', 'various causes', 'any');
    const who = user === '' ? 'nobody known' : user;
    const sum = { whose: { tenantId, user }, what: `too many of ${who}: ${cause} at the door ${door}` };
    return this.#remember(key, { ...sum, sinceMs: this.#clock.nowMs(), count: 0 });
  }

  #remember(key: string, sum: Sum): Sum {
    this.#sums.set(key, sum);
    return sum;
  }
}

function recordOf({ whose, what, sinceMs, count }: Sum): LostPassages {
  const at = new Date(sinceMs).toISOString();
  return { phase: 'lost', at, ...whose, count, why: what.slice(0, 256), what: 'refusals' };
}
