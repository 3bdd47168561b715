import { parseArgs } from 'node:util';
import { credential, type CredentialOptions } from './commands/credential.js';
import { describeFailure } from './failure.js';
import type { Io } from './io.js';

/**
 * Runs one command line (without node and script) and returns the exit status: 0, 1 for a failure, 2 for wrong usage. What a kubeconfig asks for is answered
 * without the parser of all commands: kubectl waits for it each time, and for as much as is loaded.
 */
export async function run(args: readonly string[], io: Io): Promise<number> {
  const asked = askedByKubeconfig(args);
  if (!asked) return (await import('./program.js')).runProgram(args, io);
  try {
    await credential(io, asked);
    return 0;
  } catch (error) {
    const { text, exitCode } = describeFailure(error);
    io.stderr.write(text);
    return exitCode;
  }
}

/** Undefined: another command, or one that somebody wrote themselves, who is to be told what is wrong with it. */
function askedByKubeconfig([command, ...args]: readonly string[]): CredentialOptions | undefined {
  if (command !== 'credential') return undefined;
  try {
    return parseArgs({ args, options: { server: { type: 'string' }, cluster: { type: 'string' } } }).values;
  } catch {
    return undefined;
  }
}
