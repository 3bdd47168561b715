import { spawn, type ChildProcess } from 'node:child_process';
import { createRequire } from 'node:module';
import { systemClock } from '@fairlead/clock';
import { StackError } from '../errors.js';
import { describeExit, type Exit, type StackLog } from '../events.js';
import { BoundedLog } from './bounded-log.js';
import type { Run, Unit } from './unit.js';
import { NODE_ENVIRONMENT, NODE_FLAGS } from './node-flags.js';

interface NodeUnitOptions {
  readonly name: string;
  /** Path of the entry file. */
  readonly main: string;
  readonly args?: readonly string[];
  /** Asked anew for each start. Secrets are named by file here, never held. */
  readonly env: () => Promise<Readonly<Record<string, string>>>;
  readonly cwd: string;
  readonly logPath: string;
  readonly log: StackLog;
  /** `http://host:port` of its health server. */
  readonly healthUrl: string;
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
}

const STOP_GRACE_MS = 8_000;
/**
 * Given to Node by `--import`: a process with an IPC channel ends with whoever started it. Compiled, also where tests run this from source: to strip its
 * types would take each process longer than to run it.
 */
export const EXIT_WITH_PARENT = createRequire(import.meta.url).resolve('@fairlead/stack/exit-with-parent');

/**
 * One of our own processes. It is the leader of its own process group, so that Ctrl-C reaches only the one who started it, and it
 * ends when that one is gone.
 */
export function nodeUnit(options: NodeUnitOptions): Unit {
  const { name, logPath, log } = options;
  const file = new BoundedLog(logPath, (line) => log({ kind: 'line', process: name, line }));
  return {
    name,
    logPath,
    tail: () => file.tail(),
    async start(signal) {
      file.forgetTail();
      const run = await launch(options, file);
      try {
        await untilReady({ name, healthUrl: options.healthUrl, exited: run.exited, signal });
        return run;
      } catch (error) {
        await run.stop();
        if (!(error instanceof StackError)) throw error;
        throw new StackError(`${error.message}; its log is ${logPath}`, { cause: error, tail: file.tail() });
      }
    },
  };
}

/** Runs a command of one of our processes to its end. Throws StackError unless it exits with 0. */
export async function runToEnd(options: Omit<NodeUnitOptions, 'healthUrl'>, timeoutMs: number): Promise<void> {
  const { name, log } = options;
  const file = new BoundedLog(options.logPath, (line) => log({ kind: 'line', process: name, line }));
  const run = await launch(options, file);
  const timer = setTimeout(() => run.kill('SIGKILL'), timeoutMs);
  const exit = await run.exited;
  clearTimeout(timer);
  file.close();
  if (exit.code === 0) return;
  throw new StackError(`${name} failed (${describeExit(exit)}); its log is ${options.logPath}`, { tail: file.tail() });
}

async function launch(options: Omit<NodeUnitOptions, 'healthUrl'>, file: BoundedLog): Promise<Run> {
  const { main, cwd, user, name } = options;
  const args = [...NODE_FLAGS, '--import', EXIT_WITH_PARENT, main, ...(options.args ?? [])];
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...NODE_ENVIRONMENT, ...(await options.env()) },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    detached: true,
    ...user,
  });
  child.stdout?.on('data', (chunk: Buffer) => file.write(chunk));
  child.stderr?.on('data', (chunk: Buffer) => file.write(chunk));
  const exited = exitOf(child);
  if (child.pid === undefined) throw new StackError(`${name} could not be started: ${describeExit(await exited)}`);
  const kill = (signal: NodeJS.Signals): void => void child.kill(signal);
  return { pid: child.pid, exited, kill, stop: () => stop(child, exited) };
}

/** `close`, not `exit`: by then all that it wrote has arrived. */
function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
    child.once('error', (error) => resolve({ code: null, signal: error.message }));
  });
}

async function stop(child: ChildProcess, exited: Promise<Exit>): Promise<void> {
  child.kill('SIGTERM');
  // A frozen process has to be woken to see it.
  child.kill('SIGCONT');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_GRACE_MS);
  await exited;
  clearTimeout(timer);
}

interface ReadinessOptions {
  readonly name: string;
  readonly healthUrl: string;
  readonly exited: Promise<Exit>;
  readonly signal: AbortSignal;
  readonly timeoutMs?: number;
}

const POLL_MS = 100;

/** Polls `/readyz` until it says yes. Throws StackError if the process ends first or the time (default 60 s) is up. */
export async function untilReady(options: ReadinessOptions): Promise<void> {
  const { name, healthUrl, signal, timeoutMs = 60_000 } = options;
  let ended: Exit | undefined;
  void options.exited.then((exit) => (ended = exit));
  const deadline = systemClock.monotonicMs() + timeoutMs;
  for (;;) {
    signal.throwIfAborted();
    if (ended) throw new StackError(`${name} ended (${describeExit(ended)}) before it was ready`);
    const problem = await askReadiness(healthUrl);
    if (problem === undefined) return;
    if (systemClock.monotonicMs() >= deadline) {
      throw new StackError(`${name} was not ready after ${timeoutMs / 1_000} s: ${problem}`);
    }
    await Promise.race([systemClock.sleep(POLL_MS, signal), options.exited]);
  }
}

/** Undefined when ready, else why not. */
async function askReadiness(healthUrl: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${healthUrl}/readyz`, { signal: AbortSignal.timeout(2_000) });
    const text = await response.text();
    return response.ok ? undefined : text.slice(0, 500).replaceAll(/\s+/g, ' ').trim();
  } catch {
    return 'its health server does not answer';
  }
}
