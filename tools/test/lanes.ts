// Which test files run at the same time: many that mostly wait for deadlines, few that compute.
import { availableParallelism } from 'node:os';
import type { Timing } from './timings.js';

export type Lane = 'waiting' | 'computing';

/** A file that used more of a core than this, on average, computes. */
const COMPUTING_SHARE = 0.5;

export function laneOf({ wallS, cpuS }: Timing): Lane {
  return cpuS > COMPUTING_SHARE * wallS ? 'computing' : 'waiting';
}

/** A computing file for each core; of those that wait three times as many leave little idle, as measured on two cores. */
export function limitsFor(cores = availableParallelism()): Record<Lane, number> {
  return { computing: Math.max(1, cores), waiting: 3 * Math.max(1, cores) };
}

interface Queued {
  readonly lane: Lane;
  readonly wallS: number;
  readonly isReady: () => boolean;
  readonly admit: (leave: () => void) => void;
}

export class Lanes {
  readonly #limits: Readonly<Record<Lane, number>>;
  readonly #running: Record<Lane, number> = { waiting: 0, computing: 0 };
  #queue: Queued[] = [];

  constructor(limits: Readonly<Record<Lane, number>>) {
    this.#limits = limits;
  }

  /**
   * Resolves when the file may run, with what to call once it has ended. Longest first: one begun last would keep everybody waiting.
   * `isReady` is asked each time something changes; say so with `lookAgain`.
   */
  enter(timing: Timing, isReady: () => boolean = () => true): Promise<() => void> {
    return new Promise((admit) => {
      this.#queue.push({ lane: laneOf(timing), wallS: timing.wallS, isReady, admit });
      this.#queue.sort((a, b) => b.wallS - a.wallS);
      this.lookAgain();
    });
  }

  lookAgain(): void {
    for (const file of this.#queue) {
      if (this.#running[file.lane] >= this.#limits[file.lane] || !file.isReady()) continue;
      this.#queue = this.#queue.filter((other) => other !== file);
      this.#running[file.lane] += 1;
      file.admit(() => this.#leave(file.lane));
    }
  }

  get queued(): number {
    return this.#queue.length;
  }

  #leave(lane: Lane): void {
    this.#running[lane] -= 1;
    this.lookAgain();
  }
}
