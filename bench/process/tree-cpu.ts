import { readFile, readdir } from 'node:fs/promises';
import { ticksOf } from './cpu-time.js';

/** USER_HZ, as in cpu-time.ts. */
const TICKS_PER_SECOND = 100;

interface ProcessTimes {
  readonly pid: number;
  readonly parent: number;
  readonly ticks: number;
}

/**
 * CPU seconds that a process and all its children have used so far, those that it has waited for included: as of a Postgres, which has a process for each
 * connection. Of Linux alone. Source: proc_pid_stat(5), fields 4 and 14 to 17.
 */
export async function treeCpuSeconds(root: number): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = (await Promise.all(pids.map(timesOf))).filter((each) => each !== undefined);
  const tree = new Set([root]);
  // Children may stand before their parents.
  for (let before = 0; before < tree.size;) {
    before = tree.size;
    for (const { pid, parent } of found) if (tree.has(parent)) tree.add(pid);
  }
  return found.filter(({ pid }) => tree.has(pid)).reduce((sum, { ticks }) => sum + ticks, 0) / TICKS_PER_SECOND;
}

/** Undefined: it is gone. */
async function timesOf(pid: number): Promise<ProcessTimes | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (stat === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const waitedFor = Number(fields[13]) + Number(fields[14]);
  return { pid, parent: Number(fields[1]), ticks: ticksOf(stat) + waitedFor };
}
