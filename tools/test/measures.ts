// Tables of what test files took.
import type { Measure } from './session.js';

const LISTED = 20;

/** The slowest files by wall time and by CPU time, as Markdown that also reads well in a terminal. */
export function slowest(measures: readonly Measure[], count = LISTED): string {
  return [table('wall', measures, ({ wallS }) => wallS, count), table('CPU', measures, ({ cpuS }) => cpuS, count)].join(
    '\n\n',
  );
}

/** Sums that a run is judged by, in seconds. */
export function totalOf(measures: readonly Measure[]): { wallS: number; cpuS: number } {
  return {
    wallS: measures.reduce((sum, { wallS }) => sum + wallS, 0),
    cpuS: measures.reduce((sum, { cpuS }) => sum + cpuS, 0),
  };
}

export function minutes(seconds: number): string {
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

function table(by: string, measures: readonly Measure[], key: (measure: Measure) => number, count: number): string {
  const slow = [...measures].sort((a, b) => key(b) - key(a)).slice(0, count);
  const rows = slow.map(({ path, wallS, cpuS }) => `| ${seconds(wallS)} | ${seconds(cpuS)} | ${path} |`);
  return [`Slowest by ${by} time:`, '', '| wall s | CPU s | file |', '|---:|---:|---|', ...rows].join('\n');
}

const seconds = (value: number) => value.toFixed(1).padStart(6);
