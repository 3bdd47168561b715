export { TokenBucket, type Rate } from './token-bucket.js';
export { KeyedRateLimit } from './keyed-rate-limit.js';
export { ConcurrencyLimit, type ConcurrencyLimits } from './concurrency-limit.js';
export { NetworkConcurrencyLimit, type NetworkConcurrencyLimits } from './network-concurrency-limit.js';
export { HandshakingConnections, type ConnectionEnds } from './handshaking-connections.js';
export { BoundedMap, type BoundedMapOptions, type Overflow } from './bounded-map.js';
export { RateLimitedEvents } from './rate-limited-events.js';
export { RateLimitedLog, type LogCause, type SuppressedLines } from './rate-limited-log.js';
export { networkOf } from './network-of.js';
