import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { EXIT_WITH_PARENT, REPOSITORY } from '@fairlead/stack';
import { usageOf } from '../support/proc.js';

const MAIN = join(REPOSITORY, 'e2e', 'dist', 'flood', 'bare-server-main.js');

/** A TLS server in a process of its own that only accepts and closes. */
export interface BareServer extends AsyncDisposable {
  readonly address: { readonly host: string; readonly port: number };
  /** Of its process so far. Throws where there is no /proc. */
  cpuSeconds(): number;
}

/** Rejects if its process ends before it listens. */
export async function startBareServer(): Promise<BareServer> {
  const child = spawn(process.execPath, ['--import', EXIT_WITH_PARENT, MAIN], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit');
  const lines = createInterface(child.stdout as Readable);
  const [said] = (await Promise.race([once(lines, 'line'), exited])) as [unknown];
  if (typeof said !== 'string') throw new Error(`the bare server ended with ${String(said)}`);
  return {
    address: JSON.parse(said) as BareServer['address'],
    cpuSeconds: () => {
      const usage = usageOf(child.pid ?? 0);
      if (!usage) throw new Error('what a process uses is measured on Linux alone');
      return usage.cpuSeconds;
    },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
