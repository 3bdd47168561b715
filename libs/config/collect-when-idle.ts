import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** When a process collects by itself. */
export interface Collecting {
  /** How often it is looked. */
  readonly lookMs: number;
  /** Of one CPU: whoever used less since the last look is idle. */
  readonly idleShare: number;
  /** What the heap has to have grown by since the last collection. */
  readonly worthBytes: number;
  /** The same, as a share of what was kept: what it costs is looking at all of that. */
  readonly worthShare: number;
  /**
   * What the process has to have grown by since, as a share of what it held: garbage may be small to V8, and hold on to what others allocated for it.
   * As well as `worthBytes`. Absent: that is no reason.
   */
  readonly worthResidentShare?: number;
  /**
   * Collects so many times more after a collection that was worth it, or that freed half of `worthBytes` of the heap and of what that holds on to: in
   * the middle of a flood it cannot free what the flood still uses.
   */
  readonly repeats?: number;
  /** Of one CPU, at most, for the thread that waits: a large heap is collected the more seldom. V8's helpers take some four times as much beside it. */
  readonly pauseShare: number;
}

/** Of a guest, which does nothing but keep its connections most of the time. A collection of so little takes some 20 ms. */
const GUEST: Collecting = {
  lookMs: 15_000,
  idleShare: 0.03,
  worthBytes: 4 * 1024 * 1024,
  worthShare: 0,
  pauseShare: 0.005,
};

/**
 * Of a gateway, which always has something to do, and whose pauses its users feel: after a flood its heap is many times what it keeps, and V8 collects
 * when it is asked for memory, not when it has nothing to do.
 */
export const COLLECTING_OF_SERVER: Collecting = {
  lookMs: 5_000,
  idleShare: 0.5,
  worthBytes: 16 * 1024 * 1024,
  worthShare: 0.5,
  worthResidentShare: 0.2,
  repeats: 16,
  pauseShare: 0.01,
};

/**
 * Lets a process give back what it does not use: our flags put full collections off until the heap has 128 MB, which
 * a process that has become idle, or has only started, does not reach for days. Until the signal is aborted.
 */
export function collectWhenIdle(signal: AbortSignal, collecting: Collecting = GUEST): void {
  const { lookMs, idleShare, pauseShare, worthBytes, repeats = 0 } = collecting;
  const collect = collector();
  let cpu = process.cpuUsage();
  let kept: Held = { heapUsed: 0, external: 0, rss: 0 };
  let notBeforeMs = 0;
  let repeatsLeft = 0;
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(cpu);
    cpu = process.cpuUsage();
    const isIdle = (user + system) / 1_000 < lookMs * idleShare;
    if (!isIdle) return;
    const now = process.memoryUsage();
    // What a collection freed goes back to the system in the seconds after it.
    kept = { ...kept, rss: Math.min(kept.rss, now.rss) };
    const worth = isWorth(collecting, now, kept);
    if (performance.now() < notBeforeMs || !(worth || repeatsLeft > 0)) return;
    // Not by the clock: on a busy machine others take the most of it.
    const before = process.threadCpuUsage();
    collect();
    const took = process.threadCpuUsage(before);
    notBeforeMs = performance.now() + (took.user + took.system) / 1_000 / pauseShare;
    kept = process.memoryUsage();
    const freedBytes = now.heapUsed + now.external - kept.heapUsed - kept.external;
    repeatsLeft = worth || freedBytes >= worthBytes / 2 ? repeats : repeatsLeft - 1;
  }, lookMs);
  timer.unref();
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
}

type Held = Pick<NodeJS.MemoryUsage, 'heapUsed' | 'external' | 'rss'>;

function isWorth({ worthBytes, worthShare, worthResidentShare }: Collecting, now: Held, kept: Held): boolean {
  if (now.heapUsed - kept.heapUsed >= Math.max(worthBytes, worthShare * kept.heapUsed)) return true;
  if (worthResidentShare === undefined) return false;
  return now.rss - kept.rss >= Math.max(worthBytes, worthResidentShare * kept.rss);
}

/**
 * V8's own, which Node gives only to whoever starts it with a flag for that. An ordinary one keeps the pages that it emptied in a
 * pool, for as long as the process lives; the one of last resort gives them back to the system (ADR 83).
 */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as NodeJS.GCFunction;
  setFlagsFromString('--no-expose-gc');
  return () => {
    // One tick waits meanwhile: V8 forgets what their objects look like if there is none, and makes each later one eight times as slowly, for good.
    process.nextTick(() => undefined);
    collect({ execution: 'sync', flavor: 'last-resort', type: 'major' });
  };
}
