// How fast this machine computes while the tests run. A CPU second is worth less on a slow machine, or beside busy neighbours on its host.
import { createHash } from 'node:crypto';

const EVERY_MS = 15_000;
/** The first ones are compiled yet. */
const WARM_UP = 3;
const RECENT = 5;
/** What the work of this file took, in CPU milliseconds, beside the tests of which timings.json and cpu-budget.json tell. */
export const RECORDED_MS = 18;

/** Measures now and then, until it is ended. */
export class MachineSpeed {
  readonly #samples: number[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor() {
    for (let run = 0; run < WARM_UP; run += 1) cpuMsOfWork();
    this.#timer = setInterval(() => this.#samples.push(cpuMsOfWork()), EVERY_MS);
    this.#timer.unref();
  }

  /** How many times as long this machine computes as the one on which timings were recorded, by its last few samples; at least 1, as they were taken beside others. */
  slowness(): number {
    if (this.#samples.length === 0) this.#samples.push(cpuMsOfWork());
    return Math.max(1, medianOf(this.#samples.slice(-RECENT)) / RECORDED_MS);
  }

  /** What the same work took at the median, in CPU milliseconds. Measures once if nothing was measured yet. */
  end(): number {
    clearInterval(this.#timer);
    return medianOf(this.#samples.length > 0 ? this.#samples : [cpuMsOfWork()]);
  }
}

/** A budget of CPU seconds, for a machine on which the work took `tookMs` where it should take `expectedMs`. A faster one gets no less. */
export function scaled(seconds: number, tookMs: number, expectedMs: number): number {
  return Math.round(seconds * Math.max(1, tookMs / expectedMs));
}

export function medianOf(samples: readonly number[]): number {
  return samples.toSorted((a, b) => a - b)[Math.floor(samples.length / 2)] ?? 0;
}

/** Objects, strings and hashes, as tests make them: always the same. */
function cpuMsOfWork(): number {
  const before = process.cpuUsage();
  const text = 'x'.repeat(2_000);
  const kept: unknown[] = [];
  for (let turn = 0; turn < 3_000; turn += 1) {
    kept[turn % 100] = JSON.parse(JSON.stringify({ turn, text, list: [1, 2, 3, turn] }));
    createHash('sha256').update(`${text}${turn}`).digest('hex');
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
