import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { eventually } from './eventually.js';

const run = promisify(execFile);

/**
 * Has a process stand still (SIGSTOP); resolves when it does. The signal alone is no end: on a busy machine other threads of the process go on for a
 * while, and answer what came meanwhile. SIGCONT wakes it.
 */
export async function freeze({ pid }: { readonly pid?: number | undefined }): Promise<void> {
  if (pid === undefined) throw new Error('there is no process to freeze');
  process.kill(pid, 'SIGSTOP');
  await eventually(async () => {
    const states = await threadStates(pid);
    if (states.some((state) => state !== 'T')) throw new Error(`process ${pid} still runs: ${states.join(' ')}`);
  });
}

/** A letter for each thread, as ps(1) has them; elsewhere than on Linux one for all of them. */
async function threadStates(pid: number): Promise<string[]> {
  if (process.platform !== 'linux') {
    const { stdout } = await run('ps', ['-o', 'stat=', '-p', String(pid)]);
    return [stdout.trim().charAt(0)];
  }
  const threads = await readdir(`/proc/${pid}/task`);
  return Promise.all(
    threads.map(async (thread) => stateIn(await readFile(`/proc/${pid}/task/${thread}/stat`, 'utf8'))),
  );
}

/** The name before it may hold anything (proc_pid_stat(5)). */
function stateIn(stat: string): string {
  return stat.slice(stat.lastIndexOf(')') + 2).charAt(0);
}
