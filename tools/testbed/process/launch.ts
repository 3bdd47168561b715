import { execFile, spawn } from 'node:child_process';
import { open, readFile } from 'node:fs/promises';
import { TestbedError } from '../errors.js';

export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** SIGKILL for what hears nothing else. */
export type StopSignal = 'SIGTERM' | 'SIGINT' | 'SIGKILL';

/** A child process whose output goes to a file. */
export interface Child {
  readonly name: string;
  readonly pid: number;
  readonly exited: Promise<Exit>;
  /** Undefined while it runs. */
  readonly exit: Exit | undefined;
  /** What asks it to stop in order, and what the kernel sends it when this process dies. */
  readonly stopSignal: StopSignal;
  /** The last lines it wrote, for error messages. */
  tail(): Promise<string>;
}

export interface LaunchOptions {
  readonly name: string;
  readonly path: string;
  readonly args: readonly string[];
  readonly logPath: string;
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly uid?: number | undefined;
  readonly gid?: number | undefined;
  /** What stands before the command, and becomes it: `enter` of a network namespace. */
  readonly enter?: readonly string[] | undefined;
  readonly stopSignal: StopSignal;
}

/**
 * Starts a server as a child process, its output appended to `logPath`. On Linux with setpriv (util-linux) the kernel ends the
 * child when this process dies, however that happens; elsewhere an orphan is recognised and ended by the next start on its data.
 */
export async function launch(options: LaunchOptions): Promise<Child> {
  const log = await open(options.logPath, 'a', 0o600);
  try {
    const start = (await log.stat()).size;
    const command = await withParentDeathSignal(options);
    // Whoever enters a namespace of users is another user to the kernel, which then forgets the parent-death signal: enter first.
    const [path, ...args] = [...(options.enter ?? []), ...command] as [string, ...string[]];
    const child = spawn(path, args, {
      cwd: options.cwd,
      env: options.env ?? process.env,
      stdio: ['ignore', log.fd, log.fd],
      // In a group of its own: a terminal's Ctrl-C must not end a database before those who use it.
      detached: true,
      ...(needsSetuid(options) && path === options.path ? { uid: options.uid, gid: options.gid } : {}),
    });
    let exit: Exit | undefined;
    const exited = new Promise<Exit>((resolve) => {
      const settle = (result: Exit) => resolve((exit = result));
      child.once('exit', (code, signal) => settle({ code, signal }));
      child.once('error', () => settle({ code: null, signal: null }));
    });
    if (child.pid === undefined) throw new TestbedError(`could not start ${options.name} at ${options.path}`);
    const tail = async () => lastLines((await readFile(options.logPath)).subarray(start).toString('utf8'));
    const { name, stopSignal } = options;
    return {
      name,
      pid: child.pid,
      stopSignal,
      exited,
      tail,
      get exit() {
        return exit;
      },
    };
  } finally {
    await log.close();
  }
}

const needsSetuid = (o: LaunchOptions): o is LaunchOptions & { uid: number; gid: number } =>
  o.uid !== undefined && o.gid !== undefined;

async function withParentDeathSignal(options: LaunchOptions): Promise<readonly string[]> {
  if (!(await hasSetpriv())) return [options.path, ...options.args];
  // The kernel forgets the parent-death signal when the user changes, so setpriv must do both, in its own order.
  const user = needsSetuid(options) ? [`--reuid=${options.uid}`, `--regid=${options.gid}`, '--clear-groups'] : [];
  return ['setpriv', '--pdeathsig', options.stopSignal.slice(3), ...user, '--', options.path, ...options.args];
}

let setpriv: Promise<boolean> | undefined;
function hasSetpriv(): Promise<boolean> {
  setpriv ??=
    process.platform === 'linux'
      ? new Promise((resolve) => {
          execFile('setpriv', ['--pdeathsig', 'TERM', '--', process.execPath, '--version'], (error) => resolve(!error));
        })
      : Promise.resolve(false);
  return setpriv;
}

function lastLines(text: string): string {
  return text.trimEnd().split('\n').slice(-20).join('\n');
}
