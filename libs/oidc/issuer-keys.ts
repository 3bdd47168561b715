import { systemClock, type Clock } from '@fairlead/clock';
import { FairleadError, toFairleadError } from '@fairlead/errors';
import { z } from 'zod';
import { fetchJson, unusable, type FetchLimits } from './fetch-json.js';
import { discoveryUrl, isAskable, type IssuerSource } from './issuer-source.js';
import { keysFor, readKeySet, type IssuerKey } from './key-set.js';

const MAX_BODY_BYTES = 256 * 1024;
/** Of one request and its whole answer. */
const REQUEST_TIMEOUT_MS = 3_000;
/** Keys are fetched again after this, so that one that the issuer took back counts no longer. */
const FRESH_MS = 10 * 60_000;
/**
 * As long as an issuer that cannot be asked is believed to have its last keys. Its users go on meanwhile; but a key that it took back because it was
 * stolen counts no longer than this, even if the thief keeps us from asking.
 */
const STALE_MS = 60 * 60_000;
/** Between two requests because of a key that is not known, or after one that failed: made-up key ids must not flood an issuer. */
const PAUSE_MS = 5_000;

const Discovery = z.object({ issuer: z.string(), jwks_uri: z.string().max(2_048) });

export interface IssuerKeysOptions {
  readonly clock?: Clock;
  /** Default 3 s; discovery and the keys are two requests. */
  readonly requestTimeoutMs?: number;
  /** Told when the keys could not be fetched. Must not throw. */
  readonly onFailed?: (error: FairleadError) => void;
}

interface Held {
  readonly keys: readonly IssuerKey[];
  readonly fetchedMs: number;
}

/** The keys of one issuer: fetched by discovery when they are needed, kept, and fetched again when a token names one that is not among them. */
export class IssuerKeys {
  readonly #source: IssuerSource;
  readonly #clock: Clock;
  readonly #limits: FetchLimits;
  readonly #onFailed: (error: FairleadError) => void;
  #held: Held | null = null;
  #triedMs = -Infinity;
  #fetching: Promise<'fetched' | 'failed'> | null = null;

  constructor(source: IssuerSource, options: IssuerKeysOptions = {}) {
    this.#source = source;
    this.#clock = options.clock ?? systemClock;
    this.#limits = { maxBodyBytes: MAX_BODY_BYTES, timeoutMs: options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS };
    this.#onFailed = options.onFailed ?? (() => {});
    if (source.jwks !== null) this.#held = { keys: readKeySet(source.jwks), fetchedMs: Infinity };
  }

  /**
   * The keys that a token with this header may have been signed by. UNAUTHENTICATED: the issuer has no such key. UNAVAILABLE: it cannot be asked, or was
   * asked a moment ago.
   */
  async find(kid: string | undefined, algorithm: string): Promise<readonly IssuerKey[]> {
    const known = this.#ageMs() <= FRESH_MS ? keysFor(this.#usable(), kid, algorithm) : [];
    if (known.length > 0) return known;
    if (this.#source.jwks !== null) throw noSuchKey();
    const outcome = await this.#refresh();
    const found = keysFor(this.#usable(), kid, algorithm);
    if (found.length > 0) return found;
    throw outcome === 'fetched' ? noSuchKey() : askAgain();
  }

  #ageMs(): number {
    return this.#held === null ? Infinity : this.#clock.monotonicMs() - this.#held.fetchedMs;
  }

  #usable(): readonly IssuerKey[] {
    if (this.#held === null || this.#ageMs() > STALE_MS)
      throw unusable('it does not answer; try again in some seconds');
    return this.#held.keys;
  }

  /** Who comes while it is asked waits for the same answer. `early`: it was asked so shortly before that it is not asked again. */
  async #refresh(): Promise<'fetched' | 'failed' | 'early'> {
    if (this.#fetching !== null) return this.#fetching;
    const now = this.#clock.monotonicMs();
    if (now - this.#triedMs < PAUSE_MS) return 'early';
    this.#triedMs = now;
    this.#fetching = this.#fetch().finally(() => (this.#fetching = null));
    return this.#fetching;
  }

  async #fetch(): Promise<'fetched' | 'failed'> {
    try {
      const keys = await fetchKeys(this.#source, this.#limits);
      this.#held = { keys, fetchedMs: this.#clock.monotonicMs() };
      return 'fetched';
    } catch (error) {
      this.#onFailed(toFairleadError(error));
      return 'failed';
    }
  }
}

async function fetchKeys({ url, certificateAuthority }: IssuerSource, limits: FetchLimits): Promise<IssuerKey[]> {
  const discovery = Discovery.safeParse(await fetchJson(discoveryUrl(url), certificateAuthority, limits));
  if (!discovery.success) throw unusable('its discovery document has no issuer or no jwks_uri');
  const { issuer, jwks_uri: keysUrl } = discovery.data;
  // Another issuer's document would have its keys vouch for this one's users.
  if (issuer !== url) throw unusable('its discovery document is of another issuer');
  if (!isAskable(keysUrl) || (url.startsWith('https:') && !keysUrl.startsWith('https:')))
    throw unusable('its jwks_uri is no https URL');
  const set = await fetchJson(new URL(keysUrl), certificateAuthority, limits);
  try {
    return readKeySet(set);
  } catch {
    throw unusable('what is at its jwks_uri is no JWK set');
  }
}

function noSuchKey(): FairleadError {
  return new FairleadError('UNAUTHENTICATED', 'the token is signed by a key that the issuer does not have');
}

function askAgain(): FairleadError {
  const message =
    'the token is signed by a key that the issuer did not have when it was asked last; try again in some seconds';
  return new FairleadError('UNAVAILABLE', message, { details: { retryAfterSeconds: PAUSE_MS / 1_000 } });
}
