import { accessSync, chmodSync, constants, existsSync, mkdirSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { StackError } from '../errors.js';
import { acquireLock } from './lock.js';

/** The folder that a stack lives in, and where things are in it. */
export interface StateDir extends Disposable {
  readonly path: string;
  /** Whether the run before was killed: what it had started may be ending just now. */
  readonly takenOver: boolean;
  /** A path inside it. */
  file(...parts: string[]): string;
  /** The log file of a process. */
  logFile(name: string): string;
}

/**
 * Makes the folder and takes it for this process alone. Throws StackError if it cannot be written to, or if another
 * process has it.
 */
export function openStateDir(wanted: string): StateDir {
  const path = resolve(wanted);
  try {
    mkdirSync(path, { recursive: true });
    accessSync(path, constants.W_OK | constants.X_OK);
    // Postgres and the agent run as users of their own when we are root: they pass through, and read nothing here.
    chmodSync(path, 0o711);
    for (const inner of ['logs', 'secrets', 'bin']) mkdirSync(join(path, inner), { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new StackError(`the folder ${path} cannot be written to: ${reasonOf(cause)}`, { cause });
  }
  const lock = acquireLock(join(realpathSync(path), 'lock'));
  const file = (...parts: string[]): string => join(path, ...parts);
  const { takenOver } = lock;
  return {
    path,
    takenOver,
    file,
    logFile: (name) => file('logs', `${name}.log`),
    [Symbol.dispose]: () => lock[Symbol.dispose](),
  };
}

function reasonOf(cause: unknown): string {
  const code = (cause as NodeJS.ErrnoException).code;
  const reasons: Record<string, string> = {
    EACCES: 'permission denied',
    EPERM: 'it belongs to another user',
    EROFS: 'the file system is read-only',
    EEXIST: 'a file is in its place',
    ENOTDIR: 'a file is in its place',
    ENOSPC: 'the disk is full',
  };
  return (code && reasons[code]) ?? (cause instanceof Error ? cause.message : String(cause));
}

/** Shows the log that a component writes elsewhere among the other logs. */
export function linkLog(state: StateDir, name: string, target: string): void {
  const link = state.logFile(name);
  rmSync(link, { force: true });
  symlinkSync(relative(dirname(link), target), link);
}

/** Whether every folder above a path lets any user pass: then a process of another user can reach it. */
export function reachableByOthers(path: string, mode: (folder: string) => number): boolean {
  for (let folder = resolve(path, '..'); ; folder = resolve(folder, '..')) {
    if (!existsSync(folder) || (mode(folder) & 0o001) === 0) return false;
    if (folder === resolve(folder, '..')) return true;
  }
}
