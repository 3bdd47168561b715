export { systemClock, type Clock } from './clock.js';
export { fullJitterMs, type BackoffLimits } from './backoff.js';
export { startDeadline, type Deadline } from './deadline.js';
// These stand in libs/limits. Here are their old names, for who has not moved yet.
export {
  ConcurrencyLimit as KeyedPlaces,
  HandshakingConnections as Newcomers,
  KeyedRateLimit as Buckets,
  NetworkConcurrencyLimit as Places,
  RateLimitedLog as DampedLines,
  TokenBucket,
  networkOf,
  type ConcurrencyLimits as KeyedPlaceLimits,
  type ConnectionEnds as Dialler,
  type NetworkConcurrencyLimits as PlaceLimits,
  type Rate,
} from '@fairlead/limits';
