export { systemClock, type Clock } from './clock.js';
export { fullJitterMs, type BackoffLimits } from './backoff.js';
export { startDeadline, type Deadline } from './deadline.js';
