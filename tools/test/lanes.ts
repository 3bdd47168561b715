// Which test files run at the same time: as many as keep the cores busy, by the share of a core that each took when it was recorded.
import { availableParallelism, loadavg } from 'node:os';
import type { Timing } from './timings.js';

/** What files that run at the same time share. */
export interface Room {
  /** Cores that they may compute on together, on average. */
  readonly cores: number;
  /** How many may run, however little they compute: each has servers in memory. */
  readonly files: number;
}

const FILES_PER_CORE = 4;
/** Processes that want to run at the same time: beyond it another file makes none of them faster, and takes those it joins past their deadlines. */
const LOAD_PER_CORE = 5;

/** All cores. Shares were taken while others ran, and are a little more in truth: 15 % beyond it made a run longer, and cost 6 % more CPU. */
export function roomOn(cores = availableParallelism()): Room {
  return { cores: Math.max(1, cores), files: FILES_PER_CORE * Math.max(1, cores) };
}

/** Files take more than when they were recorded: the machine is slower, or busy with something else. */
export function isOverloaded(cores = availableParallelism(), load = loadavg()[0] ?? 0): boolean {
  return load > LOAD_PER_CORE * cores;
}

/**
 * Of a core, on average over its time; more than 1 if it computes on several. `slowness`: how many times as long this machine computes as the one on which
 * that was recorded. What the file waits for takes no longer.
 */
export function shareOf({ wallS, cpuS }: Timing, slowness = 1): number {
  return (cpuS * slowness) / Math.max(1, wallS + cpuS * (slowness - 1));
}

interface Queued {
  readonly timing: Timing;
  readonly isReady: () => boolean;
  readonly admit: (leave: () => void) => void;
}

export class Lanes {
  readonly #room: Room;
  readonly #isOverloaded: () => boolean;
  readonly #slowness: () => number;
  readonly #running = new Set<Queued>();
  #queue: Queued[] = [];

  /** While it is overloaded nothing more begins but what has the room for itself; say so with `lookAgain` when that may have ended. */
  constructor(room: Room, overloaded: () => boolean = () => false, slowness: () => number = () => 1) {
    this.#room = room;
    this.#isOverloaded = overloaded;
    this.#slowness = slowness;
  }

  /**
   * Resolves when the file may run, with what to call once it has ended. Longest first: one begun last would keep everybody waiting.
   * `isReady` is asked each time something changes; say so with `lookAgain`.
   */
  enter(timing: Timing, isReady: () => boolean = () => true): Promise<() => void> {
    return new Promise((admit) => {
      this.#queue.push({ timing, isReady, admit });
      this.#queue.sort((a, b) => b.timing.wallS - a.timing.wallS);
      this.lookAgain();
    });
  }

  lookAgain(): void {
    for (const file of this.#queue) {
      if (!this.#hasRoomFor(file) || !file.isReady()) continue;
      this.#queue = this.#queue.filter((other) => other !== file);
      this.#running.add(file);
      file.admit(() => this.#leave(file));
    }
  }

  get queued(): number {
    return this.#queue.length;
  }

  /** One alone always has, however much it computes. */
  #hasRoomFor(file: Queued): boolean {
    if (this.#running.size === 0) return true;
    if (this.#isOverloaded()) return false;
    const slowness = this.#slowness();
    const taken = [...this.#running, file].reduce((sum, { timing }) => sum + shareOf(timing, slowness), 0);
    return this.#running.size < this.#room.files && taken <= this.#room.cores;
  }

  #leave(file: Queued): void {
    this.#running.delete(file);
    this.lookAgain();
  }
}
