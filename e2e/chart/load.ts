import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { REPOSITORY } from '@fairlead/stack';

const MAIN = join(REPOSITORY, 'e2e', 'dist', 'chart', 'load-main.js');

export interface Loaded {
  /** How many requests there were. */
  readonly asked: number;
  /** What some of them came to that is no answer. */
  readonly failures: readonly string[];
}

interface Load {
  /** What stands before a command that is to run where the load comes from. */
  readonly enter: readonly string[];
  readonly caFile: string;
  readonly tokenFile: string;
  readonly urls: readonly string[];
}

/** Asks for these again and again while something happens. Rejects if the load cannot be told, or with what happened. */
export async function whileAsked(
  { enter: [nsenter = '', ...where], ...load }: Load,
  happens: () => Promise<void>,
): Promise<Loaded> {
  const args = [...where, process.execPath, MAIN, JSON.stringify(load)];
  const program = spawn(nsenter, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  const said = Promise.all([text(program.stdout), text(program.stderr), once(program, 'close')]);
  // One that cannot be started is told below, once what happens has.
  said.catch(() => undefined);
  try {
    await happens();
  } finally {
    program.stdin.end();
  }
  const [stdout, stderr] = await said;
  if (stdout === '') throw new Error(`the load said nothing: ${stderr}`);
  return JSON.parse(stdout) as Loaded;
}
