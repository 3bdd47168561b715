import { systemClock, type Clock } from '@fairlead/clock';
import { KeyedRateLimit, TokenBucket, networkOf, type Rate } from '@fairlead/limits';
import { limitKey } from '../limits/limit-key.js';
import type { GatewayEvents, Refusal } from './gateway-events.js';

/** Of one user, client or cluster at one replica. */
const KNOWN: Rate = { burst: 50, perSecond: 0.05 };
/** Of one address without an identity, and of all of them: 30 days of it at full rate are a seventh of the stream's 512 MiB. */
const UNAUTHENTICATED_ADDRESS: Rate = { burst: 30, perSecond: 0.02 };
const UNAUTHENTICATED: Rate = { burst: 200, perSecond: 0.05 };
/** How long the newest refusal beyond a rate waits for more, and then stands for them. */
const SUMMARY_MS = 60_000;
/** Identities with a summary that waits; there is one more for all who are unauthenticated. */
const MAX_SUMMARIES = 1_000;

const THE_UNAUTHENTICATED = '';

/**
 * The same events, but of refusals, which anybody can cause as fast as the network carries them, only some: beyond the rate
 * the newest waits a minute and says how many it stands for. The unauthenticated have a rate per address and one together; each
 * user, client and cluster that proved itself has its own, which nobody unauthenticated can use up. Of streams that a user is refused at the door as many are told; each has a refusal
 * besides, and that has the count.
 */
export function rateLimitedRefusals(
  events: GatewayEvents,
  clock: Pick<Clock, 'monotonicMs'> = systemClock,
): GatewayEvents {
  const known = new KeyedRateLimit(KNOWN);
  const streams = new KeyedRateLimit(KNOWN);
  const addresses = new KeyedRateLimit(UNAUTHENTICATED_ADDRESS);
  const unauthenticated = new TokenBucket(UNAUTHENTICATED, clock.monotonicMs());
  const summaries = new Map<string, { newest: Refusal; suppressed: number }>();
  const isTold = (who: string, { address }: Refusal): boolean => {
    const nowMs = clock.monotonicMs();
    if (who !== THE_UNAUTHENTICATED) return known.take(who, nowMs);
    return addresses.take(networkOf(address), nowMs) && unauthenticated.take(nowMs);
  };
  const tellSummary = (who: string): void => {
    const summary = summaries.get(who);
    summaries.delete(who);
    if (summary) events.accessRefused({ ...summary.newest, suppressed: summary.suppressed });
  };
  const suppress = (who: string, refusal: Refusal): void => {
    const before = summaries.get(who);
    if (!before && summaries.size >= MAX_SUMMARIES && who !== THE_UNAUTHENTICATED) return;
    summaries.set(who, { newest: refusal, suppressed: before ? before.suppressed + 1 : 0 });
    if (!before) setTimeout(tellSummary, SUMMARY_MS, who).unref();
  };
  return {
    ...events,
    accessRefused: (refusal) => {
      const who = identityOf(refusal);
      if (isTold(who, refusal)) events.accessRefused(refusal);
      else suppress(who, refusal);
    },
    stream: (event) => {
      const { atDoor, tenantId, user } = event;
      if (!atDoor || streams.take(limitKey(tenantId, user), clock.monotonicMs())) events.stream(event);
    },
  };
}

/** Who proved itself; nobody can choose what stands here without a token or a certificate of ours. */
function identityOf({ tenantId, user, clusterId }: Refusal): string {
  if (user !== undefined) return limitKey(tenantId ?? '', user);
  return clusterId ?? THE_UNAUTHENTICATED;
}
