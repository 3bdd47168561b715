import { writeFile } from 'node:fs/promises';
import { freePort } from '@fairlead/testbed';
import { startListening } from './listening.js';

/** Debian's `tinyproxy`: a forward proxy as companies have one. */
export interface Tinyproxy extends AsyncDisposable {
  readonly port: number;
  /** What it logged so far. */
  readonly lines: readonly string[];
}

export interface TinyproxyOptions {
  /** Where its configuration goes. */
  readonly file: string;
  /** To which ports it lets CONNECT. */
  readonly connectPorts: readonly number[];
  readonly user: string;
  readonly password: string;
}

/** Resolves when it listens, on 127.0.0.1. */
export async function startTinyproxy(options: TinyproxyOptions): Promise<Tinyproxy> {
  const port = await freePort();
  const lines = [
    `Port ${port}`,
    'Listen 127.0.0.1',
    'Allow 127.0.0.1',
    'Timeout 600',
    'LogLevel Connect',
    `BasicAuth ${options.user} ${options.password}`,
    ...options.connectPorts.map((each) => `ConnectPort ${each}`),
  ];
  await writeFile(options.file, `${lines.join('\n')}\n`, { mode: 0o600 });
  const args = ['-d', '-c', options.file];
  const watch = await startListening({ program: 'tinyproxy', args, port, debianPackage: 'tinyproxy-bin' });
  return { port, lines: watch.lines, [Symbol.asyncDispose]: () => watch[Symbol.asyncDispose]() };
}
