import { fullJitterMs, type Clock } from '@fairlead/clock';
import type { EndpointChoice, Urgency } from './endpoint-choice.js';
import type { Endpoint } from './forward-proxy.js';

/** After tries that failed. */
const RETRY = { baseMs: 5_000, capMs: 600_000 };
/** Agents of one replica that have to leave their endpoint do so over this time, by how many they are. */
const SPREAD_MS = { perLink: 20, least: 500, most: 60_000 };
/** How often a link that need not leave looks whether it could have a better one, on average. */
const LEISURE_MS = 600_000;

export interface BetterOptions<T> {
  /** Where the link is. */
  readonly endpoint: Endpoint;
  readonly choice: Pick<EndpointChoice, 'urgency' | 'better'>;
  /** Links of the replica it is to; 0: not known. */
  readonly crowd: () => number;
  /** Makes another one beside it. Null, or a rejection: there it cannot be. */
  readonly make: (endpoint: Endpoint) => Promise<T | null>;
  /** Aborted when what is known of endpoints changes next. */
  readonly changed: () => AbortSignal;
  readonly clock: Pick<Clock, 'sleep'>;
  /** The link is over. */
  readonly over: AbortSignal;
  readonly random?: () => number;
}

/**
 * Resolves with a link at a better endpoint than this one's, once one stands: only then may this one be left. Null when it is over. A crowd of
 * agents spreads over a minute at most.
 */
export async function findBetter<T>(options: BetterOptions<T>): Promise<T | null> {
  const { endpoint, choice, make, changed, clock, over } = options;
  for (let failures = 0; !over.aborted;) {
    const known = changed();
    const urgency = choice.urgency(endpoint);
    const waitMs = lookInMs(urgency, failures, options.crowd(), options.random);
    await clock.sleep(waitMs, AbortSignal.any([over, known])).catch(() => undefined);
    if (over.aborted) break;
    if (known.aborted) failures = 0;
    else if (urgency !== 'stay') {
      const candidate = choice.better(endpoint);
      const made = candidate && (await make(candidate).catch(() => null));
      if (made) return made;
      failures += 1;
    }
  }
  return null;
}

/** `stay`: when what is known may have changed by the passing of time. */
export function lookInMs(urgency: Urgency, failures: number, crowd: number, random = Math.random): number {
  if (urgency !== 'soon') return LEISURE_MS * (0.5 + random());
  if (failures > 0) return fullJitterMs(failures, RETRY, random);
  return random() * Math.min(SPREAD_MS.most, Math.max(SPREAD_MS.least, crowd * SPREAD_MS.perLink));
}
