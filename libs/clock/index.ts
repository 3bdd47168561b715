export { systemClock, type Clock } from './clock.js';
export { fullJitterMs, type BackoffLimits } from './backoff.js';
export { TokenBucket, type Rate } from './token-bucket.js';
export { Buckets } from './buckets.js';
export { networkOf } from './network-of.js';
export { startDeadline, type Deadline } from './deadline.js';
