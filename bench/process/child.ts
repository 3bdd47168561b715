import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { messageOf } from '@fairlead/errors';
import type { z } from 'zod';
import { BenchError } from './bench-error.js';

/** A process of ours; it ends when its standard input closes, so it never outlives this one. */
export interface Child extends AsyncDisposable {
  readonly pid: number;
  readonly exited: Promise<void>;
}

const READY_TIMEOUT_MS = 15_000;
const STOP_GRACE_MS = 3_000;

/** Starts a program and waits for its first line, JSON that says where it listens. Throws BenchError if none comes. */
export async function startAnnounced<T>(
  name: string,
  [command, ...args]: readonly [string, ...string[]],
  announcement: z.ZodType<T>,
): Promise<Child & { readonly announced: T }> {
  const process = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const child = adopt(name, process);
  const timer = setTimeout(() => process.kill('SIGKILL'), READY_TIMEOUT_MS);
  try {
    const line = await firstLine(process);
    return { ...child, announced: announcement.parse(JSON.parse(line)) };
  } catch (error) {
    await child[Symbol.asyncDispose]();
    throw new BenchError(`${name} did not start: ${messageOf(error)}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** Makes a spawned process, which must watch its standard input, one that is ended when disposed of. */
export function adopt(name: string, process: ChildProcess): Child {
  const exited = new Promise<void>((resolve) => {
    process.once('exit', () => resolve());
    process.once('error', () => resolve());
  });
  // It may be gone when its input is closed.
  process.stdin?.on('error', () => undefined);
  const { pid } = process;
  if (pid === undefined) throw new BenchError(`${name} could not be started`);
  const stop = async (): Promise<void> => {
    process.stdin?.end();
    const timer = setTimeout(() => process.kill('SIGKILL'), STOP_GRACE_MS);
    await exited;
    clearTimeout(timer);
  };
  return { pid, exited, [Symbol.asyncDispose]: stop };
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
