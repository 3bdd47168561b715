import { FairleadError } from '@fairlead/errors';
import { KeyedRateLimit } from '@fairlead/limits';

/** A script that goes through all clusters of an installation once is not slowed down; one that never stops is. */
const RATE = { burst: 1_000, perSecond: 2 };

/** How often a token may have a statement signed: each costs the database a look and the key service a signature. */
export class CredentialRate {
  readonly #taken = new KeyedRateLimit(RATE);

  constructor(private readonly nowMs: () => number) {}

  /** RATE_LIMITED, with `retryAfterSeconds`. */
  take(tokenId: string): void {
    const now = this.nowMs();
    if (this.#taken.take(tokenId, now)) return;
    const retryAfterSeconds = Math.ceil(this.#taken.waitMs(tokenId, now) / 1_000);
    throw new FairleadError('RATE_LIMITED', 'too many credentials were asked for with this token', {
      details: { retryAfterSeconds },
    });
  }
}
