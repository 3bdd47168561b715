export { systemClock, type Clock } from './clock.js';
export { fullJitterMs, type BackoffLimits } from './backoff.js';
