import { once } from 'node:events';
import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Stack } from '@fairlead/stack';

export interface Watch extends AsyncDisposable {
  readonly lines: readonly string[];
  /** Resolves with the first line, past or future, that matches. */
  line(pattern: RegExp, timeoutMs: number): Promise<string>;
  /** Has the process ended by itself? */
  endedYet(): boolean;
  /** Resolves when the process has ended by itself. */
  ended(timeoutMs: number): Promise<void>;
}

/** A kubectl that goes on, such as `get -w`, and the lines it prints. */
export function watchKubectl(stack: Stack, gateway: string, args: readonly string[]): Watch {
  if ('unavailable' in stack.kubectlBinary) throw new Error(stack.kubectlBinary.unavailable);
  const all = ['--kubeconfig', stack.kubeconfigPath, '--context', `demo@${gateway}`, ...args];
  return watchProcess(spawn(stack.kubectlBinary.path, all, { stdio: ['ignore', 'pipe', 'pipe'] }));
}

export function watchProcess(child: ChildProcess): Watch {
  const lines: string[] = [];
  const listeners = new Set<(line: string) => void>();
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue;
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      for (const listener of listeners) listener(line);
    });
  }
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return {
    lines,
    line: (pattern, timeoutMs) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          listeners.delete(look);
          reject(new Error(`no line like ${String(pattern)} in ${timeoutMs} ms; there were:\n${lines.join('\n')}`));
        }, timeoutMs);
        const look = (line: string): void => {
          if (!pattern.test(line)) return;
          clearTimeout(timer);
          listeners.delete(look);
          resolve(line);
        };
        listeners.add(look);
        for (const line of lines) look(line);
      }),
    endedYet: () => child.exitCode !== null || child.signalCode !== null,
    ended: async (timeoutMs) => {
      const late = AbortSignal.timeout(timeoutMs);
      await Promise.race([
        exited,
        once(late, 'abort').then(() => {
          throw new Error(`it still runs after ${timeoutMs} ms; it said:\n${lines.join('\n')}`);
        }),
      ]);
    },
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await exited;
    },
  };
}
