import { setFlagsFromString } from 'node:v8';
import vm from 'node:vm';

/** When a process collects by itself. Shares are of one CPU, used since the last look. */
export interface Collecting {
  /** How often it is looked. */
  readonly lookMs: number;
  /** Whoever used less is idle. */
  readonly idleShare: number;
  /**
   * Whoever used less is calm, and gives pages back: the collection that does so makes V8 forget what it had compiled, which whoever works then lacks (ADR 83).
   * Absent: as `idleShare`.
   */
  readonly calmShare?: number;
  /** Whoever used less is not too busy for a collection, if it has grown by twice what is worth one. Absent: as `idleShare`. */
  readonly busyShare?: number;
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
   * Collects so many times more, so long after each other, after a collection that was worth it, or that freed half of `worthBytes` of the heap and of what
   * that holds on to: in the middle of a flood it cannot free what the flood still uses.
   */
  readonly repeats?: { readonly times: number; readonly everyMs: number };
  /** Pages that were emptied are not kept for longer, however little calm there is. */
  readonly keepsPagesMs?: number;
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
  idleShare: 0.25,
  calmShare: 0.1,
  busyShare: 0.5,
  worthBytes: 16 * 1024 * 1024,
  worthShare: 0.5,
  worthResidentShare: 0.2,
  repeats: { times: 4, everyMs: 20_000 },
  keepsPagesMs: 30_000,
  pauseShare: 0.01,
};

const NO_REPEATS = { times: 0, everyMs: 0 };

/**
 * Lets a process give back what it does not use: our flags put full collections off until the heap has 128 MB, which
 * a process that has become idle, or has only started, does not reach for days. Until the signal is aborted.
 */
export function collectWhenIdle(signal: AbortSignal, collecting: Collecting = GUEST): void {
  const { lookMs, idleShare, busyShare = idleShare, pauseShare, worthBytes, repeats = NO_REPEATS } = collecting;
  const collect = collector();
  let cpu = process.cpuUsage();
  let kept: Held = { heapUsed: 0, external: 0, rss: 0 };
  let notBeforeMs = 0;
  let repeat = { left: 0, atMs: 0 };
  /** When a regular collection emptied pages, which V8 keeps. */
  let keepsSinceMs: number | undefined;
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(cpu);
    cpu = process.cpuUsage();
    const share = (user + system) / 1_000 / lookMs;
    if (share >= busyShare) return;
    const nowMs = performance.now();
    const now = process.memoryUsage();
    // What a collection freed goes back to the system in the seconds after it.
    kept = { ...kept, rss: Math.min(kept.rss, now.rss) };
    const growth = growthOf(collecting, now, kept);
    const flavor = flavorFor(collecting, {
      share,
      growth,
      keptMs: keepsSinceMs === undefined ? undefined : nowMs - keepsSinceMs,
      repeatIsDue: repeat.left > 0 && nowMs >= repeat.atMs,
    });
    if (!flavor || nowMs < notBeforeMs) return;
    // Not by the clock: on a busy machine others take the most of it.
    const before = process.threadCpuUsage();
    collect(flavor);
    const took = process.threadCpuUsage(before);
    notBeforeMs = nowMs + (took.user + took.system) / 1_000 / pauseShare;
    kept = process.memoryUsage();
    const freedMuch = now.heapUsed + now.external - kept.heapUsed - kept.external >= worthBytes / 2;
    repeat = { left: growth >= 1 || freedMuch ? repeats.times : repeat.left - 1, atMs: nowMs + repeats.everyMs };
    if (flavor === 'last-resort') keepsSinceMs = undefined;
    else if (freedMuch) keepsSinceMs ??= nowMs;
  }, lookMs);
  timer.unref();
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
}

type Flavor = NonNullable<NodeJS.GCOptions['flavor']>;

interface Look {
  /** Of one CPU, since the last look. */
  readonly share: number;
  /** Since the last collection: 1 is worth one. */
  readonly growth: number;
  /** How long pages have been kept; undefined if none are. */
  readonly keptMs: number | undefined;
  readonly repeatIsDue: boolean;
}

/** Which collection it is time for in a process that is not busy, if any. */
function flavorFor(collecting: Collecting, { share, growth, keptMs, repeatIsDue }: Look): Flavor | undefined {
  const { idleShare, calmShare = idleShare, keepsPagesMs = Infinity } = collecting;
  if (share >= idleShare) return growth >= 2 ? 'regular' : undefined;
  if (keptMs !== undefined && (share < calmShare || keptMs >= keepsPagesMs)) return 'last-resort';
  if (growth >= 1) return share < calmShare ? 'last-resort' : 'regular';
  return repeatIsDue ? 'regular' : undefined;
}

type Held = Pick<NodeJS.MemoryUsage, 'heapUsed' | 'external' | 'rss'>;

/** What it has grown by since, in parts of what is worth a collection. */
function growthOf({ worthBytes, worthShare, worthResidentShare }: Collecting, now: Held, kept: Held): number {
  const ofHeap = (now.heapUsed - kept.heapUsed) / Math.max(worthBytes, worthShare * kept.heapUsed);
  if (worthResidentShare === undefined) return ofHeap;
  return Math.max(ofHeap, (now.rss - kept.rss) / Math.max(worthBytes, worthResidentShare * kept.rss));
}

/**
 * V8's own, which Node gives only to whoever starts it with a flag for that. A regular one keeps the pages that it emptied in a
 * pool, for as long as the process lives; the one of last resort gives them back to the system (ADR 83).
 */
function collector(): (flavor: Flavor) => void {
  setFlagsFromString('--expose-gc');
  const collect = vm.runInNewContext('gc') as NodeJS.GCFunction;
  setFlagsFromString('--no-expose-gc');
  return (flavor) => {
    // One tick waits meanwhile: V8 forgets what their objects look like if there is none, and makes each later one eight times as slowly, for good.
    process.nextTick(() => undefined);
    collect({ execution: 'sync', flavor, type: 'major' });
  };
}
