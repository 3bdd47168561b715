import { cpSync, mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { findBinary } from '@fairlead/testbed';
import { messageOf } from '@fairlead/errors';
import { StackError } from '../errors.js';
import type { StackLog } from '../events.js';
import { baseEnvironment } from '../process/base-environment.js';
import { runCommand, type CommandOutput } from '../process/run-command.js';
import { entryOf } from '../state/repository.js';
import type { StateDir } from '../state/state-dir.js';
import type { CliOptions, KubectlOptions, Stack } from '../stack.js';

/** The pinned kubectl, and `bin/kubectl` in the state directory pointing to it; or why there is none. */
export async function findKubectl(
  state: StateDir,
  log: StackLog,
  signal: AbortSignal,
): Promise<Stack['kubectlBinary']> {
  try {
    const { path } = await findBinary('kubectl', { log: (text) => log({ kind: 'progress', text }), signal });
    return { path: pointLink(state.file('bin', 'kubectl'), path) };
  } catch (error) {
    signal.throwIfAborted();
    return { unavailable: messageOf(error) };
  }
}

/**
 * Makes `link` point to a program, and returns where that really is. Who has the link's folder on PATH has the link itself
 * found as the program: a link to a link would in the end be one to itself.
 */
export function pointLink(link: string, program: string): string {
  const path = realpathSync(program);
  rmSync(link, { force: true });
  symlinkSync(path, link);
  return path;
}

/**
 * Leaves `bin/fairlead` in the state directory: the command for people, with a login of its own. What they log in as, or
 * out of, is nothing to the stack, which goes on as the administrator.
 */
export function writeCliScript(state: Pick<StateDir, 'file'>): string {
  const word = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
  const command = [process.execPath, entryOf('cli')].map(word).join(' ');
  const path = state.file('bin', 'fairlead');
  const lines = [
    '#!/bin/sh',
    '# The fairlead command. When the stack starts, it is logged in as the administrator; with another FAIRLEAD_HOME, as whoever logged in there.',
    `[ -n "$FAIRLEAD_HOME" ] || FAIRLEAD_HOME=${word(cliHome(state, 'home'))}`,
    'export FAIRLEAD_HOME',
    `exec ${command} "$@"`,
  ];
  const script = `${lines.join('\n')}\n`;
  writeFileSync(path, script, { mode: 0o700 });
  return path;
}

/** Runs the fairlead command with its files in the state directory: never in the user's home. */
export function runCli(state: StateDir, args: readonly string[], options: CliOptions = {}): Promise<CommandOutput> {
  const env = { ...baseEnvironment(), FAIRLEAD_HOME: cliHome(state, 'own-home'), NO_COLOR: '1' };
  return runCommand(process.execPath, [entryOf('cli'), ...args], { ...options, env, cwd: state.path });
}

/** Runs kubectl with one kubeconfig; the user's own is out of reach. */
export function runKubectl(
  binary: Stack['kubectlBinary'],
  kubeconfigPath: string,
  args: readonly string[],
  { context, ...options }: KubectlOptions = {},
): Promise<CommandOutput> {
  if ('unavailable' in binary) throw new StackError(`there is no kubectl: ${binary.unavailable}`);
  const env = { ...baseEnvironment(), KUBECONFIG: kubeconfigPath };
  const all = context === undefined ? args : ['--context', context, ...args];
  return runCommand(binary.path, all, { ...options, env });
}

/** Gives the script the login that the stack itself has. */
export function logInCliScript(state: Pick<StateDir, 'file'>): void {
  cpSync(cliHome(state, 'own-home'), cliHome(state, 'home'), { recursive: true });
}

function cliHome(state: Pick<StateDir, 'file'>, name: 'home' | 'own-home'): string {
  const home = state.file(name);
  mkdirSync(home, { recursive: true, mode: 0o700 });
  return home;
}
