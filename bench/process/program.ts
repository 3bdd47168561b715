import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { messageOf } from '@fairlead/errors';
import type { z } from 'zod';
import { BenchError } from './bench-error.js';

export interface Launch {
  readonly name: string;
  readonly command: Command;
  /** Where what it writes to standard error goes (and to standard output, where that announces nothing). */
  readonly logPath: string;
  /** Its whole environment; default: this process's. */
  readonly env?: Readonly<Record<string, string>>;
}

export type Command = readonly [string, ...string[]];

/** A command that another one runs. */
export function prefixed([first, ...rest]: readonly string[], command: Command): Command {
  return first === undefined ? command : [first, ...rest, ...command];
}

const READY_TIMEOUT_MS = 15_000;

/** A process of ours that can be killed and started again. It ends with this process, however that ends. */
export class Program implements AsyncDisposable {
  readonly #launch: Launch;
  #running: { readonly process: ChildProcess; readonly exited: Promise<void> } | undefined;

  constructor(launch: Launch) {
    this.#launch = launch;
  }

  /** Throws BenchError while it does not run. */
  get pid(): number {
    const { process } = this.#running ?? {};
    if (process?.pid === undefined || process.exitCode !== null || process.signalCode !== null) {
      throw new BenchError(`${this.#launch.name} does not run`);
    }
    return process.pid;
  }

  /** Resolves when its present life ends. */
  get exited(): Promise<void> {
    return this.#running?.exited ?? Promise.resolve();
  }

  /** Resolves when it runs, ready or not. Throws BenchError if it cannot be run. */
  async start(): Promise<void> {
    await this.#spawn('ignored');
  }

  /** Starts a program whose first line is JSON, and resolves with that. Throws BenchError if none comes. */
  async announced<T>(announcement: z.ZodType<T>, timeoutMs = READY_TIMEOUT_MS): Promise<T> {
    const process = await this.#spawn('read');
    const timer = setTimeout(() => process.kill('SIGKILL'), timeoutMs);
    try {
      return announcement.parse(JSON.parse(await firstLine(process)));
    } catch (error) {
      await this.kill();
      throw new BenchError(`${this.#launch.name} did not start: ${messageOf(error)}`, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }

  /** SIGKILL, by pid; resolves when it is gone. */
  async kill(): Promise<void> {
    this.#running?.process.kill('SIGKILL');
    await this.exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  /** Starts it; its lines are read one by one. */
  protected async startRead(): Promise<AsyncIterator<string>> {
    const { stdout } = await this.#spawn('read');
    if (!stdout) throw new BenchError(`${this.#launch.name} cannot be read`);
    return createInterface({ input: stdout })[Symbol.asyncIterator]();
  }

  protected write(text: string): void {
    this.#running?.process.stdin?.write(text);
  }

  async #spawn(output: 'read' | 'ignored'): Promise<ChildProcess> {
    const { name, command, logPath, env } = this.#launch;
    await using log = await open(logPath, 'a', 0o600);
    const [file, ...args] = [...(await endWithParent()), ...command] as [string, ...string[]];
    const process = spawn(file, args, {
      // Our own programs end with their standard input too: elsewhere than on Linux nothing else ends them.
      stdio: ['pipe', output === 'read' ? 'pipe' : log.fd, log.fd],
      ...(env ? { env } : {}),
      // A terminal's Ctrl-C must not reach them before we stop measuring.
      detached: true,
    });
    const exited = new Promise<void>((resolve) => {
      process.once('exit', () => resolve());
      process.once('error', () => resolve());
    });
    // It may be gone when its input is closed.
    process.stdin?.on('error', () => undefined);
    this.#running = { process, exited };
    if (process.pid === undefined) throw new BenchError(`${name} could not be started`);
    return process;
  }
}

function firstLine(process: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    const { stdout } = process;
    if (!stdout) return reject(new BenchError('its output is not read'));
    const lines = createInterface({ input: stdout });
    lines.once('line', resolve);
    lines.once('close', () => reject(new BenchError('it ended without a word')));
    return undefined;
  });
}

let setpriv: Promise<readonly string[]> | undefined;

/** On Linux with setpriv (util-linux) the kernel ends a program with the one that started it. */
function endWithParent(): Promise<readonly string[]> {
  const prefix = ['setpriv', '--pdeathsig', 'KILL', '--'] as const;
  setpriv ??= new Promise((resolve) => {
    execFile(prefix[0], [...prefix.slice(1), process.execPath, '--version'], (error) => resolve(error ? [] : prefix));
  });
  return setpriv;
}
