import { execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';
import { messageOf } from '@fairlead/errors';
import { BenchError } from './bench-error.js';

const run = promisify(execFile);

const PROBE_TIMEOUT_MS = 10_000;

/** Says to the process that runs in a namespace that it does. */
export const INSIDE = 'inside-namespace';

export interface Rerun {
  /** This program. */
  readonly main: string;
  readonly args: readonly string[];
  /** Path of bench/go/wan. */
  readonly wan: string;
  readonly signal: AbortSignal;
}

/**
 * Runs this program again in a network namespace of its own, in which nothing but this benchmark can be reached, with the
 * same arguments; resolves with its exit code. The namespace goes with its last process. Throws BenchError with the reason
 * where none can be had.
 */
export async function rerunInNamespace({ main, args, wan, signal }: Rerun): Promise<number> {
  const [command, ...rest] = [...(await entering(wan)), process.execPath, main, ...args, `--${INSIDE}`];
  const child = spawn(command ?? '', rest, { stdio: 'inherit' });
  // A terminal's Ctrl-C reaches it anyway; twice does no harm.
  const stop = (): void => void child.kill('SIGTERM');
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code) => resolve(code ?? 1));
    });
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** What runs a command in a new network namespace; an ordinary user needs one of users for it. */
async function entering(wan: string): Promise<readonly string[]> {
  const asUser = process.getuid?.() === 0 ? [] : ['--user', '--map-current-user', '--keep-caps'];
  // The kernel ends the child with this process, however that ends.
  const command = ['setpriv', '--pdeathsig', 'TERM', '--', 'unshare', ...asUser, '--net', '--'];
  try {
    await run(command[0] ?? '', [...command.slice(1), wan, '-probe'], { timeout: PROBE_TIMEOUT_MS });
    return command;
  } catch (error) {
    const reason = messageOf(error).trim().split('\n').at(-1);
    throw new BenchError(`no network namespace with a TUN device can be had here: ${reason}`, { cause: error });
  }
}
