export { systemClock, type Clock } from './clock.js';
export { fullJitterMs, type BackoffLimits } from './backoff.js';
export { TokenBucket, type Rate } from './token-bucket.js';
export { Buckets } from './buckets.js';
export { networkOf } from './network-of.js';
export { Places, type PlaceLimits } from './places.js';
export { Newcomers, type Dialler } from './newcomers.js';
export { startDeadline, type Deadline } from './deadline.js';
