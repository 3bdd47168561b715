// What each test file took and needed when it was last recorded: tools/test/timings.json, written by `--save-timings`.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Timing {
  /** From the start of its process to its end, in seconds. */
  readonly wallS: number;
  /** CPU seconds of its process and all below. */
  readonly cpuS: number;
  /** Components of the testbed that it asked for. */
  readonly needs: readonly string[];
}

export type Timings = Readonly<Record<string, Timing>>;

const PATH = join(import.meta.dirname, 'timings.json');

/** Nothing is known of a new file, so it counts as long and computing. */
export const UNKNOWN: Timing = { wallS: 120, cpuS: 120, needs: [] };

export function readTimings(path = PATH): Timings {
  return JSON.parse(readFileSync(path, 'utf8')) as Timings;
}

/** Takes over what was measured, forgets files that are gone, and keeps the rest. */
export function mergeTimings(before: Timings, measured: Timings, files: readonly string[]): Timings {
  const known = files.filter((file) => file in before || file in measured).sort();
  return Object.fromEntries(known.map((file) => [file, measured[file] ?? before[file]!]));
}

/** One file a line, so that a diff shows what changed. */
export function writeTimings(timings: Timings, path = PATH): void {
  const lines = Object.entries(timings).map(([file, { wallS, cpuS, needs }]) => {
    const rounded = { wallS: Math.round(wallS), cpuS: Math.round(cpuS), needs: [...needs].sort() };
    return `  ${JSON.stringify(file)}: ${JSON.stringify(rounded)}`;
  });
  writeFileSync(path, `{\n${lines.join(',\n')}\n}\n`);
}

/** The components that files need, each once; first what most test time waits for, so that none of it is left for when all are here. */
export function neededBy(files: readonly string[], timings: Timings): string[] {
  const waitingS = new Map<string, number>();
  for (const { wallS, needs } of files.flatMap((file) => timings[file] ?? []))
    for (const name of needs) waitingS.set(name, (waitingS.get(name) ?? 0) + wallS);
  return [...waitingS].sort(([, a], [, b]) => b - a).map(([name]) => name);
}
