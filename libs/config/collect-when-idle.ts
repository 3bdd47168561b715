import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** When a process is not too busy for a collection. */
export interface Calm {
  /** It has used less than this share of one CPU between two looks. */
  readonly share: number;
  /** At how many looks in a row that has to be so. */
  readonly looks: number;
  /** How many looks ago the last collection has to be, at least. Absent: that is no matter. */
  readonly everyLooks?: number;
}

/** When a process collects in a flood. */
export interface Flooded extends Calm {
  readonly repeats: number;
  /** After so many looks already, if the process has grown by so much since the last collection: on a faster machine a flood is faster, too. */
  readonly sooner: { readonly everyLooks: number; readonly grownBytes: number };
}

/** When a process collects by itself. */
export interface Collecting {
  /** How often it is looked. */
  readonly lookMs: number;
  /** Any of these is enough, but for a flood. */
  readonly calm: readonly Calm[];
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
   * What holds in a flood instead of `calm`. It is collected `repeats` times more after a collection that was worth it, or that freed half of
   * `worthBytes` of the heap and of what that holds on to: in the middle of a flood it cannot free what the flood still uses.
   */
  readonly flooded?: Flooded;
  /** Of one CPU, at most, for the thread that waits: a large heap is collected the more seldom. V8's helpers take some four times as much beside it. */
  readonly pauseShare: number;
}

/** Of a guest, which does nothing but keep its connections most of the time. A collection of so little takes some 20 ms. */
const GUEST: Collecting = {
  lookMs: 15_000,
  calm: [{ share: 0.03, looks: 1 }],
  worthBytes: 4 * 1024 * 1024,
  worthShare: 0,
  pauseShare: 0.005,
};

/**
 * Of a gateway, whose pauses its users feel. V8 forgets with a collection what it had compiled, and whoever works then lacks it: so a gateway that
 * works is left alone for two minutes each time, but for floods, after which its heap is many times what it keeps. V8 itself collects when it is asked for memory,
 * not when it has nothing to do.
 */
export const COLLECTING_OF_SERVER: Collecting = {
  lookMs: 4_000,
  calm: [
    { share: 0.1, looks: 8 },
    { share: 0.5, looks: 1, everyLooks: 30 },
  ],
  worthBytes: 16 * 1024 * 1024,
  worthShare: 0.5,
  worthResidentShare: 0.2,
  flooded: {
    share: 0.5,
    looks: 1,
    everyLooks: 4,
    repeats: 6,
    sooner: { everyLooks: 2, grownBytes: 56 * 1024 * 1024 },
  },
  pauseShare: 0.01,
};

/**
 * Lets a process give back what it does not use: our flags put full collections off until the heap has 128 MB, which
 * a process that has become idle, or has only started, does not reach for days. Until the signal is aborted. `isFlooded` is asked at each look.
 */
export function collectWhenIdle(
  signal: AbortSignal,
  collecting: Collecting = GUEST,
  isFlooded: () => boolean = () => false,
): void {
  const collections = new Collections(collecting);
  const timer = setInterval(() => collections.look(isFlooded()), collecting.lookMs);
  timer.unref();
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
}

/** Of which any rule may ask. */
const MOST_LOOKS = 8;

type Held = Pick<NodeJS.MemoryUsage, 'heapUsed' | 'external' | 'rss'>;

class Collections {
  readonly #collecting: Collecting;
  readonly #collect = collector();
  #cpu = process.cpuUsage();
  /** Of one CPU, at the last looks. */
  #shares: readonly number[] = [];
  #kept: Held = { heapUsed: 0, external: 0, rss: 0 };
  #looksSinceLast = Infinity;
  #notBeforeMs = 0;
  #repeatsLeft = 0;

  constructor(collecting: Collecting) {
    this.#collecting = collecting;
  }

  look(isFlooded: boolean): void {
    this.#looksSinceLast += 1;
    this.#noteShare();
    const flooded = isFlooded ? this.#collecting.flooded : undefined;
    const rules = flooded ? [flooded] : this.#collecting.calm;
    const isTime = rules.some((rule) => this.#isCalm(rule));
    const isEarly = !isTime && flooded !== undefined && this.#isCalm({ ...flooded, ...flooded.sooner });
    if (!isTime && !isEarly) return;
    const now = process.memoryUsage();
    // What a collection freed goes back to the system in the seconds after it.
    this.#kept = { ...this.#kept, rss: Math.min(this.#kept.rss, now.rss) };
    if (isEarly && now.rss - this.#kept.rss < flooded.sooner.grownBytes) return;
    const worth = isWorth(this.#collecting, now, this.#kept);
    const isDue = worth || (flooded !== undefined && this.#repeatsLeft > 0);
    if (!isDue || performance.now() < this.#notBeforeMs) return;
    this.#collectAndNote();
    const { heapUsed, external } = (this.#kept = process.memoryUsage());
    const freedMuch = now.heapUsed + now.external - heapUsed - external >= this.#collecting.worthBytes / 2;
    this.#repeatsLeft = worth || freedMuch ? (flooded?.repeats ?? 0) : this.#repeatsLeft - 1;
  }

  #noteShare(): void {
    const { user, system } = process.cpuUsage(this.#cpu);
    this.#cpu = process.cpuUsage();
    this.#shares = [...this.#shares, (user + system) / 1_000 / this.#collecting.lookMs].slice(-MOST_LOOKS);
  }

  #isCalm({ share, looks, everyLooks = 0 }: Calm): boolean {
    const last = this.#shares.slice(-looks);
    return last.length === looks && last.every((each) => each < share) && this.#looksSinceLast >= everyLooks;
  }

  #collectAndNote(): void {
    // Not by the clock: on a busy machine others take the most of it.
    const before = process.threadCpuUsage();
    this.#collect();
    const { user, system } = process.threadCpuUsage(before);
    this.#looksSinceLast = 0;
    this.#notBeforeMs = performance.now() + (user + system) / 1_000 / this.#collecting.pauseShare;
  }
}

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
