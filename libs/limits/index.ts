export { TokenBucket, type Rate } from './token-bucket.js';
export { KeyedRateLimit } from './keyed-rate-limit.js';
export {
  ConcurrencyLimit,
  NetworkConcurrencyLimit,
  type ConcurrencyLimits,
  type NetworkConcurrencyLimits,
} from './concurrency-limit.js';
export { HandshakingConnections } from './handshaking-connections.js';
export { connectionKey, type ConnectionEnds } from './connection-ends.js';
export { acceptFromBalancers, type Balancers } from './balancers/accept-from-balancers.js';
export { clientAddressOf } from './balancers/client-address.js';
export { admitInTurn, type AdmitOptions } from './admit-in-turn.js';
export { ReturningOffenders } from './returning-offenders.js';
export { BoundedMap, type BoundedMapOptions, type Overflow } from './bounded-map.js';
export { RateLimitedEvents } from './rate-limited-events.js';
export { RateLimitedLog, type LogCause, type SuppressedLines } from './rate-limited-log.js';
export { UnauthenticatedFlood, noteUnauthenticatedEnd } from './unauthenticated-flood.js';
export { readNoMore } from './read-no-more.js';
export { networkOf } from './network-of.js';
