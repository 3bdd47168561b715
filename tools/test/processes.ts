// Processes of this machine, from /proc: what they computed, and who descends from whom. Elsewhere than on Linux nothing is known.
import { readFileSync, readdirSync } from 'node:fs';

export interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  /** CPU seconds of the process itself and of those children that have ended and were waited for. */
  readonly cpuS: number;
  /** By SIGSTOP. */
  readonly isStopped: boolean;
}

/** Linux counts CPU time in hundredths of a second here, whatever its own clock does. */
const TICKS_PER_S = 100;

/** A line of /proc/<pid>/stat. The name in parentheses may hold anything, parentheses too. */
export function parseStat(line: string): ProcessStat {
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  const ticks = [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0);
  return {
    pid: Number.parseInt(line, 10),
    parent: Number(fields[1]),
    cpuS: ticks / TICKS_PER_S,
    isStopped: fields[0] === 'T',
  };
}

/** A process with all that descend from it, of those given. */
export function treeOf(pid: number, all: readonly ProcessStat[]): ProcessStat[] {
  const children = new Map<number, ProcessStat[]>();
  for (const stat of all) children.set(stat.parent, [...(children.get(stat.parent) ?? []), stat]);
  const tree = all.filter((stat) => stat.pid === pid);
  // The list grows while it is walked.
  for (const { pid: parent } of tree) tree.push(...(children.get(parent) ?? []));
  return tree;
}

/** All processes that run now. */
export function runningProcesses(): ProcessStat[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/u.test(name))
    .flatMap((pid) => statOf(pid));
}

/** CPU seconds of a process and its descendants; those that ended count where their parent waited for them. */
export function cpuSecondsOf(pid: number): number {
  return treeOf(pid, runningProcesses()).reduce((sum, { cpuS }) => sum + cpuS, 0);
}

function statOf(pid: string): ProcessStat[] {
  try {
    return [parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'))];
  } catch {
    // It ended meanwhile.
    return [];
  }
}
