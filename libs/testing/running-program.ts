import { spawn } from 'node:child_process';

/** A program that prints JSON, one in each line. */
export interface RunningProgram extends AsyncDisposable {
  /** What it printed so far, as far as lines are whole. */
  printed<T>(): T[];
  /** What it said besides, and why it could not be started. */
  complaints(): string;
}

/** Runs a program, with nothing of the environment but PATH, HOME and what is given, until it is disposed of: by SIGTERM. */
export function runProgram(
  command: string,
  args: readonly string[],
  given: Readonly<Record<string, string>>,
): RunningProgram {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(command, args, { env: { PATH, HOME, ...given }, stdio: ['ignore', 'pipe', 'pipe'] });
  const closed = new Promise<void>((done) => void child.once('close', () => done()));
  let [printed, complaints] = ['', ''];
  child.once('error', (error) => (complaints += String(error)));
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text));
  return {
    printed: <T>() => {
      const lines = printed.slice(0, printed.lastIndexOf('\n') + 1).split('\n');
      return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as T);
    },
    complaints: () => complaints,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM');
      await closed;
    },
  };
}
