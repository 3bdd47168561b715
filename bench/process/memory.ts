import { readFile } from 'node:fs/promises';
import { BenchError } from './bench-error.js';

/**
 * Memory that processes hold now, in kB (1024 bytes). Throws BenchError where there is no /proc; rejects if one of the
 * processes is gone. Source: proc_pid_status(5), VmRSS.
 */
export async function residentKb(pids: readonly number[]): Promise<number> {
  if (process.platform !== 'linux') throw new BenchError('memory is measured on Linux only');
  const statuses = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/status`, 'utf8')));
  return statuses.reduce((sum, status) => sum + residentKbOf(status), 0);
}

export function residentKbOf(status: string): number {
  const kb = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
  if (kb === undefined) throw new BenchError('a process has ended');
  return Number(kb);
}
