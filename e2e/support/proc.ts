import { readFileSync, readdirSync, readlinkSync } from 'node:fs';

/** USER_HZ: what /proc counts in, 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/** What a process holds and has used, from /proc; null elsewhere. Source: proc(5). */
export interface ProcessUsage {
  readonly residentMb: number;
  readonly openFiles: number;
  readonly openSockets: number;
  readonly cpuSeconds: number;
}

/** Throws ENOENT if there is no such process. */
export function usageOf(pid: number): ProcessUsage | null {
  if (process.platform !== 'linux') return null;
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The command name may hold blanks and parentheses; the fields after the last one do not.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const files = readdirSync(`/proc/${pid}/fd`);
  return {
    residentMb: Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024,
    openFiles: files.length,
    openSockets: files.filter((file) => isSocket(`/proc/${pid}/fd/${file}`)).length,
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND,
  };
}

/** Whether a descriptor is a socket; one that was closed since it was listed is none. */
function isSocket(path: string): boolean {
  try {
    return readlinkSync(path).startsWith('socket:');
  } catch {
    return false;
  }
}
