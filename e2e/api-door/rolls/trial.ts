import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { eventually } from '@fairlead/testing';

/** A `client-go-trial` that runs until its input ends. Disposed of, it is killed if it still runs. */
export interface Trial extends AsyncDisposable {
  /** What it told so far, one object a line. */
  readonly told: readonly unknown[];
  /** Resolves once it has told that many; rejects if it ends before. */
  hasTold(count: number, timeoutMs: number): Promise<void>;
  /** Ends its input; resolves with all that it told. Rejects with what it complained of unless it succeeds. */
  end(timeoutMs: number): Promise<readonly unknown[]>;
  kill(): void;
}

const KEPT_LINES = 30;

export function startTrial(path: string, args: readonly string[]): Trial {
  const child = spawn(path, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.on('error', () => undefined);
  const told: unknown[] = [];
  const complaints: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => told.push(JSON.parse(line)));
  createInterface({ input: child.stderr }).on('line', (line) => {
    complaints.push(line);
    if (complaints.length > KEPT_LINES) complaints.shift();
  });
  const closed = once(child, 'close') as Promise<[code: number | null]>;
  const over = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const said = (): string => complaints.join('\n');
  return {
    told,
    hasTold: (count, timeoutMs) =>
      eventually(
        () => {
          if (told.length < count)
            throw new Error(`it told ${JSON.stringify(told)}; ${over() ? 'it ended; ' : ''}${said()}`);
        },
        { timeoutMs },
      ),
    end: async (timeoutMs) => {
      child.stdin.end();
      const late = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
      const [code] = await closed;
      clearTimeout(late);
      if (code !== 0) throw new Error(`it ended with ${code}: ${said()}`);
      return told;
    },
    kill: () => void child.kill('SIGKILL'),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await closed;
    },
  };
}
