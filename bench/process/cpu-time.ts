import { readFile, readdir } from 'node:fs/promises';
import { PARTS, type System } from '../systems/system.js';

/** USER_HZ: what /proc counts in, 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/**
 * CPU seconds that processes have used so far, user and system, all their threads; null where there is no /proc.
 * Rejects if one of the processes is gone. Resolution: 10 ms each. Source: proc_pid_stat(5), fields 14 and 15.
 */
export async function cpuSeconds(pids: readonly number[]): Promise<number | null> {
  if (process.platform !== 'linux') return null;
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, 'utf8')));
  return stats.reduce((sum, stat) => sum + ticksOf(stat), 0) / TICKS_PER_SECOND;
}

/**
 * The same of one process, to the nanosecond, without threads that have ended; null where there is no such file. Source: the kernel's
 * Documentation/scheduler/sched-stats.rst, /proc/<pid>/schedstat, first field.
 */
export async function threadSeconds(pid: number): Promise<number | null> {
  const dir = `/proc/${pid}/task`;
  try {
    const threads = await readdir(dir);
    const stats = await Promise.all(threads.map((thread) => readFile(`${dir}/${thread}/schedstat`, 'utf8')));
    return stats.reduce((sum, stat) => sum + Number(stat.split(' ', 1)[0]), 0) / 1e9;
  } catch {
    return null;
  }
}

/** utime + stime of a line of /proc/<pid>/stat. The name in parentheses may hold blanks and parentheses itself. */
export function ticksOf(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

/** What something yields, and the CPU seconds that all processes of the system used meanwhile; null if there are none. */
export async function cpuSecondsDuring<T>(
  system: System,
  run: () => Promise<T>,
): Promise<{ readonly result: T; readonly cpuSeconds: number | null }> {
  const pids = PARTS.flatMap((part) => system.pids(part));
  const before = pids.length === 0 ? null : await cpuSeconds(pids);
  const result = await run();
  const after = before === null ? null : await cpuSeconds(pids);
  return { result, cpuSeconds: before === null || after === null ? null : after - before };
}
