import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isAlive } from '@fairlead/testbed/is-alive';
import { StackError } from '../errors.js';

interface Lock extends Disposable {
  /** Whether the holder before was gone without letting go: what it had started may be ending just now. */
  readonly takenOver: boolean;
}

/** A pid is given out again; together with the time its process started it is not. */
interface Holder {
  readonly pid: number;
  readonly startTime: string;
}

/**
 * A file that only one live process holds. One left by a process that is gone (killed, machine restarted) is taken over.
 * Throws StackError naming the holder.
 */
export function acquireLock(path: string): Lock {
  const mine: Holder = { pid: process.pid, startTime: startTimeOf(process.pid) ?? '' };
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, JSON.stringify(mine), { mode: 0o600 });
  let takenOver = false;
  try {
    if (!tryLink(temporary, path)) {
      takenOver = true;
      const holder = readHolder(path);
      if (holder && startTimeOf(holder.pid) === holder.startTime) {
        throw new StackError(`another run (process ${holder.pid}) uses ${path.replace(/\/lock$/, '')}`);
      }
      rmSync(path, { force: true });
      if (!tryLink(temporary, path)) throw new StackError(`another run has just taken ${path.replace(/\/lock$/, '')}`);
    }
  } finally {
    rmSync(temporary, { force: true });
  }
  return { takenOver, [Symbol.dispose]: () => rmSync(path, { force: true }) };
}

/** Creates the lock with its content in one step: nobody ever reads a half-written one. */
function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function readHolder(path: string): Holder | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Holder;
  } catch {
    // Released in this moment, or not ours: either way nobody to name.
    return undefined;
  }
}

/** Undefined when no such process runs. Where the time cannot be had, a live process counts as the holder. */
function startTimeOf(pid: number): string | undefined {
  if (process.platform !== 'linux') return isAlive(pid) ? '' : undefined;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command name may hold blanks and parentheses; the fields after the last one do not. Field 22 is starttime.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}
