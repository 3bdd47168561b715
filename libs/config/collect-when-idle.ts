import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** How often it is looked. */
const LOOK_MS = 15_000;
/** Of one CPU: whoever uses less does nothing but keep its connections. */
const IDLE_SHARE = 0.03;
/** Less is not worth a collection, which takes some 20 ms. */
const WORTH_BYTES = 4 * 1024 * 1024;

/**
 * Lets a process that is a guest give back what it does not use: our flags put full collections off until the heap has 128 MB, which
 * a process that has become idle, or has only started, does not reach for days. Until the signal is aborted.
 */
export function collectWhenIdle(signal: AbortSignal): void {
  const collect = collector();
  let cpu = process.cpuUsage();
  let keptBytes = 0;
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(cpu);
    cpu = process.cpuUsage();
    const isIdle = (user + system) / 1_000 < LOOK_MS * IDLE_SHARE;
    if (!isIdle || process.memoryUsage().heapUsed - keptBytes < WORTH_BYTES) return;
    collect();
    keptBytes = process.memoryUsage().heapUsed;
  }, LOOK_MS);
  timer.unref();
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
}

/** V8's own, which Node gives only to whoever starts it with a flag for that. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  setFlagsFromString('--no-expose-gc');
  return collect;
}
