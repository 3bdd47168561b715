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
  const { fairlead, home, env } = await commandOf(stack, name, tokenFile);
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

/** The command alone, with a home of its own, logged in by the token in a file. */
export async function commandOf(
  stack: Stack,
  name: string,
  tokenFile: string,
): Promise<Pick<Person, 'fairlead'> & { readonly home: string; readonly env: NodeJS.ProcessEnv }> {
  const home = join(stack.stateDir, `home-of-${name}`);
  await mkdir(home, { recursive: true });
  await chmod(home, 0o700);
  const env = { PATH: process.env.PATH, HOME: home, FAIRLEAD_HOME: join(home, 'fairlead'), NO_COLOR: '1' };
  const fairlead: Person['fairlead'] = async (...args) => {
    const output = await run(join(stack.stateDir, 'bin', 'fairlead'), args, env);
    // The one command of theirs that hands out a secret on its standard output.
    const stdout = args[0] === 'credential' ? '' : output.stdout;
    secretScan.hear(`the output of fairlead ${args.join(' ')}`, `${stdout}\n${output.stderr}`);
    return output;
  };
  const server = ['--server', stack.api.url, '--ca-file', stack.api.caFile];
  await succeeds(fairlead('login', ...server, '--token-file', tokenFile));
  return { fairlead, home, env };
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
