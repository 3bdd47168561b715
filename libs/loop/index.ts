export { RunLoop, runLoop, type Failure, type RetryLimits, type RunLoopOptions } from './run-loop.js';
export { Wake } from './wake.js';
