// Parts of a run that is too long for one go.
import { availableParallelism } from 'node:os';
import { UNKNOWN, type Timings } from './timings.js';

export interface Shard {
  /** From 1. */
  readonly index: number;
  readonly count: number;
}

/** `2/5`. Throws an Error that says what is expected. */
export function parseShard(text: string): Shard {
  const [, index, count] = /^(\d+)\/(\d+)$/u.exec(text) ?? [];
  const shard = { index: Number(index), count: Number(count) };
  if (!(shard.index >= 1 && shard.index <= shard.count)) throw new Error(`--shard ${text}: expected i/n, as 2/5`);
  return shard;
}

/** The files of a shard. They are dealt like cards, longest first, so that shards take about the same time. */
export function shardOf(files: readonly string[], { index, count }: Shard, timings: Timings): string[] {
  return longestFirst(files, timings).filter((_, position) => position % count === index - 1);
}

/** As many files, longest first, as probably fit into the time on this machine; one at least, that a run gets on. */
export function fitting(
  files: readonly string[],
  minutes: number,
  timings: Timings,
  cores = availableParallelism(),
): string[] {
  const chosen: string[] = [];
  let [cpuS, wallS] = [0, 0];
  for (const file of longestFirst(files, timings)) {
    const timing = timings[file] ?? UNKNOWN;
    cpuS += timing.cpuS;
    wallS += timing.wallS;
    // Cores are never all busy, and not all files wait at once.
    const takesS = Math.max(timing.wallS, cpuS / (0.8 * cores), wallS / (2 * cores));
    if (chosen.length > 0 && takesS > minutes * 60) break;
    chosen.push(file);
  }
  return chosen;
}

function longestFirst(files: readonly string[], timings: Timings): string[] {
  const wallS = (file: string) => (timings[file] ?? UNKNOWN).wallS;
  return [...files].sort((a, b) => wallS(b) - wallS(a) || a.localeCompare(b));
}
