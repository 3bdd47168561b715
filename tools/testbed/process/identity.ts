import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/** A process told apart from a later one that was given the same pid. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it started, in the unit of the operating system; only ever compared for equality. */
  readonly startTime: string;
}

/** The identity of a live process, or undefined when no such process runs (a zombie counts as gone). */
export async function identify(pid: number): Promise<ProcessIdentity | undefined> {
  const startTime = process.platform === 'linux' ? await linuxStartTime(pid) : await psStartTime(pid);
  return startTime === undefined ? undefined : { pid, startTime };
}

/** Whether this very process, not a successor under the same pid, still runs. */
export async function isRunning(identity: ProcessIdentity): Promise<boolean> {
  return (await identify(identity.pid))?.startTime === identity.startTime;
}

/**
 * Ends a process by pid after checking that it still is the one meant: `signal`, then SIGKILL after `graceMs`.
 * Resolves once it is gone; does nothing when it is gone already.
 */
export async function endProcess(identity: ProcessIdentity, signal: NodeJS.Signals, graceMs: number): Promise<void> {
  const deadline = Date.now() + graceMs;
  if (await isRunning(identity)) send(identity, signal);
  let killed = false;
  while (await isRunning(identity)) {
    if (!killed && Date.now() >= deadline) {
      send(identity, 'SIGKILL');
      killed = true;
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** It may have ended since somebody looked: that is what was wanted. */
function send({ pid }: ProcessIdentity, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

async function linuxStartTime(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (stat === undefined) return undefined;
  // The command name (field 2) is in parentheses and may hold spaces; state is field 3, starttime field 22.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
}

async function psStartTime(pid: number): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'lstart=', '-p', String(pid)]);
    return stdout.trim() || undefined;
  } catch {
    return undefined;
  }
}
