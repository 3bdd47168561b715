import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import type { Stack } from '@fairlead/stack';
import { eventually } from '@fairlead/testing';
import { expect } from 'vitest';
import { fairlead } from './fairlead.js';

/** The root of the samples of a subscriber over NATS. */
export const SAMPLES = resolve(import.meta.dirname, '../../samples/nats-subscriber');
const SEEN_WITHIN_MS = 60_000;

export interface MadeSubscriber {
  readonly seedFile: string;
  readonly consumer: string;
}

/** Makes one with the command, its key below the state directory. */
export async function makeSubscriber(
  stack: Stack,
  name: string,
  types: string,
  ...more: string[]
): Promise<MadeSubscriber> {
  const seedFile = join(stack.stateDir, `${name}.nk`);
  const made = await fairlead(
    stack,
    ...more,
    'subscriber',
    'create',
    name,
    '--types',
    types,
    '--out',
    seedFile,
    '-o',
    'json',
  );
  const { subscriber } = JSON.parse(made) as { subscriber: { nats: { consumer: string } } };
  return { seedFile, consumer: subscriber.nats.consumer };
}

export interface ToldEvent {
  readonly type: string;
  readonly tenantid: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A sample that runs, and what it printed. */
export interface RunningSample extends AsyncDisposable {
  readonly told: readonly ToldEvent[];
  /** What it said besides. */
  readonly complaints: () => string;
  /** Waits until it was told so many events that `which` means. */
  until(count: number, which: (event: ToldEvent) => boolean): Promise<void>;
}

/** Runs a sample as a process, with the environment that its README asks for, until it is disposed of. */
export function runSample(
  stack: Stack,
  { seedFile, consumer }: MadeSubscriber,
  command: string,
  ...args: string[]
): RunningSample {
  const { url, caFile } = stack.nats;
  const { PATH = '', HOME = '' } = process.env;
  const env = { PATH, HOME, NATS_URL: url, NATS_SEED_FILE: seedFile, NATS_CONSUMER: consumer };
  const child = spawn(command, args, {
    env: caFile === undefined ? env : { ...env, NATS_CA_FILE: caFile },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = new Promise<void>((done) => void child.once('close', () => done()));
  let printed = '';
  let complaints = '';
  child.once('error', (error) => (complaints += String(error)));
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text));
  const lines = (): ToldEvent[] =>
    printed
      .slice(0, printed.lastIndexOf('\n') + 1)
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as ToldEvent);
  return {
    get told() {
      return lines();
    },
    complaints: () => complaints,
    until: (count, which) =>
      eventually(
        () => {
          const found = lines().filter(which).length;
          expect({ enough: found >= count, found, complaints }).toMatchObject({ enough: true });
        },
        { timeoutMs: SEEN_WITHIN_MS },
      ),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM');
      await exited;
    },
  };
}
