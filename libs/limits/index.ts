export { TokenBucket, type Rate } from './token-bucket.js';
export { KeyedRateLimit } from './keyed-rate-limit.js';
export {
  ConcurrencyLimit,
  NetworkConcurrencyLimit,
  type ConcurrencyLimits,
  type NetworkConcurrencyLimits,
} from './concurrency-limit.js';
export { HandshakingConnections, connectionKey, type ConnectionEnds } from './handshaking-connections.js';
export { admitInTurn } from './admit-in-turn.js';
export { BoundedMap, type BoundedMapOptions, type Overflow } from './bounded-map.js';
export { RateLimitedEvents } from './rate-limited-events.js';
export { RateLimitedLog, type LogCause, type SuppressedLines } from './rate-limited-log.js';
export { networkOf } from './network-of.js';
