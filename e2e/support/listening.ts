import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { eventually } from '@fairlead/testing';
import { watchProcess, type Watch } from './watching.js';

/** A program of Debian's that listens on 127.0.0.1. */
export interface Listening {
  readonly program: string;
  readonly args: readonly string[];
  readonly port: number;
  /** Where it is to be had. */
  readonly debianPackage: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** Starts it, and resolves when it listens. Rejects with what it said, or with what to install. */
export async function startListening({ program, args, port, debianPackage, env }: Listening): Promise<Watch> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], ...(env && { env }) });
  const failed = once(child, 'error').then(([error]) => {
    throw new Error(`there is no ${program}: apt-get install ${debianPackage}`, { cause: error });
  });
  const watch = watchProcess(child);
  const listens = eventually(async () => {
    if (watch.endedYet()) throw new Error(`${program} ended:\n${watch.lines.join('\n')}`);
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    socket.destroy();
  });
  await Promise.race([listens, failed]);
  return watch;
}
