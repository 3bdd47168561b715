import { execFile } from 'node:child_process';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CommandOutput, Stack } from '@fairlead/stack';
import { secretScan } from '../support/secret-scan/index.js';
import { watchProcess, type Watch } from '../support/watching.js';
import { spawn } from 'node:child_process';

const TIMEOUT_MS = 60_000;

/** Somebody with a home of their own on this machine: the command, and a kubectl with their kubeconfig. */
export interface Person {
  fairlead(...args: string[]): Promise<CommandOutput>;
  /** Through one gateway. */
  kubectl(gateway: string, ...args: string[]): Promise<CommandOutput>;
  /** The same person with another kubeconfig, made of their own. */
  withKubeconfig(change: (text: string) => string): Promise<Pick<Person, 'kubectl'>>;
  /** One that goes on, such as `get -w`. */
  watch(gateway: string, ...args: string[]): Watch;
}

/** Logs in by the token in a file, and takes nothing of what the stack's administrator has; with a kubeconfig for the demo. */
export async function logIn(stack: Stack, name: string, tokenFile: string): Promise<Person> {
  return personOf(stack, await commandOf(stack, name, tokenFile));
}

/** Whoever is logged in, with a kubeconfig for the demo. */
export async function personOf(stack: Stack, { fairlead, home, env }: Command): Promise<Person> {
  const kubeconfig = join(home, 'kubeconfig');
  await succeeds(fairlead('kubeconfig', 'demo', '--output', kubeconfig));
  const kubeEnv = { ...env, KUBECONFIG: kubeconfig };
  return {
    fairlead,
    kubectl: kubectlWith(stack, kubeEnv),
    async withKubeconfig(change) {
      const other = join(home, `kubeconfig-${crypto.randomUUID()}`);
      await writeFile(other, change(await readFile(kubeconfig, 'utf8')), { mode: 0o600 });
      return { kubectl: kubectlWith(stack, { ...env, KUBECONFIG: other }) };
    },
    watch: (gateway, ...args) =>
      watchProcess(
        spawn(kubectlPathOf(stack), through(gateway, args), { stdio: ['ignore', 'pipe', 'pipe'], env: kubeEnv }),
      ),
  };
}

/** The command alone, with a home of its own. */
export interface Command extends Pick<Person, 'fairlead'> {
  /** One that waits for something, such as a login for a browser. No terminal, and nothing to read. */
  begin(...args: string[]): Watch;
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
}

/** The command of somebody who is logged in by the token in a file. */
export async function commandOf(stack: Stack, name: string, tokenFile: string): Promise<Command> {
  const command = await newcomer(stack, name);
  await succeeds(command.fairlead('login', ...serverOf(stack), '--token-file', tokenFile));
  return command;
}

/** Where to log in, and what to trust there. */
export function serverOf({ api }: Stack): string[] {
  return ['--server', api.url, '--ca-file', api.caFile];
}

/** The command of somebody who is not logged in yet. */
export async function newcomer(stack: Stack, name: string, more: NodeJS.ProcessEnv = {}): Promise<Command> {
  const home = join(stack.stateDir, `home-of-${name}`);
  await mkdir(home, { recursive: true });
  await chmod(home, 0o700);
  const env = { PATH: process.env.PATH, HOME: home, FAIRLEAD_HOME: join(home, 'fairlead'), NO_COLOR: '1', ...more };
  const program = join(stack.stateDir, 'bin', 'fairlead');
  return {
    async fairlead(...args) {
      const output = await run(program, args, env);
      // The one command of theirs that hands out a secret on its standard output.
      const stdout = args[0] === 'credential' ? '' : output.stdout;
      secretScan.hear(`the output of fairlead ${args.join(' ')}`, `${stdout}\n${output.stderr}`);
      return output;
    },
    begin: (...args) => watchProcess(spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env })),
    home,
    env,
  };
}

/** The administrator with what was signed for them beforehand, and no home. */
export interface BreakGlass {
  kubectl: Person['kubectl'];
  /** The same without the statement. */
  byTokenAlone: Person['kubectl'];
}

/** Has it written while there is somebody to ask. */
export async function breakGlass(stack: Stack): Promise<BreakGlass> {
  const file = join(stack.stateDir, 'break-glass.kubeconfig');
  await succeeds(stack.cli(['kubeconfig', 'demo', '--break-glass', '--for', '30d', '--output', file]));
  const tokenAlone = `${file}.token-alone`;
  await writeFile(tokenAlone, (await readFile(file, 'utf8')).replace(/~[A-Za-z0-9_-]+/, ''), { mode: 0o600 });
  const env = { PATH: process.env.PATH, HOME: stack.stateDir };
  return {
    kubectl: kubectlWith(stack, { ...env, KUBECONFIG: file }),
    byTokenAlone: kubectlWith(stack, { ...env, KUBECONFIG: tokenAlone }),
  };
}

function kubectlWith(stack: Stack, env: NodeJS.ProcessEnv): Person['kubectl'] {
  return (gateway, ...args) => run(kubectlPathOf(stack), through(gateway, args), env);
}

function kubectlPathOf({ kubectlBinary }: Stack): string {
  if ('unavailable' in kubectlBinary) throw new Error(kubectlBinary.unavailable);
  return kubectlBinary.path;
}

function through(gateway: string, args: readonly string[]): string[] {
  return ['--context', `demo@${gateway}`, ...args];
}

/** Standard output; rejects with what was said otherwise. */
export async function succeeds(running: Promise<CommandOutput>): Promise<string> {
  const { code, stdout, stderr } = await running;
  if (code !== 0) throw new Error(`it failed with ${code}: ${stderr}`);
  return stdout;
}

function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<CommandOutput> {
  return new Promise((resolve) => {
    execFile(program, args, { env, timeout: TIMEOUT_MS }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr });
    });
  });
}
