import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { freePort } from '@fairlead/testbed';
import { eventually } from '@fairlead/testing';
import { watchProcess } from './watching.js';

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
  const child = spawn('tinyproxy', ['-d', '-c', options.file], { stdio: ['ignore', 'pipe', 'pipe'] });
  const failed = once(child, 'error').then(([error]) => {
    throw new Error('there is no tinyproxy: apt-get install tinyproxy-bin', { cause: error });
  });
  const watch = watchProcess(child);
  const listens = eventually(async () => {
    if (watch.endedYet()) throw new Error(`tinyproxy ended:\n${watch.lines.join('\n')}`);
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    socket.destroy();
  });
  await Promise.race([listens, failed]);
  return { port, lines: watch.lines, [Symbol.asyncDispose]: () => watch[Symbol.asyncDispose]() };
}
