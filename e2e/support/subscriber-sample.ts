import { join, resolve } from 'node:path';
import type { Stack } from '@fairlead/stack';
import { eventually, runProgram } from '@fairlead/testing';
import { expect } from 'vitest';
import { fairlead } from './fairlead.js';

/** The root of the samples of a subscriber over NATS. */
export const SUBSCRIBERS = resolve(import.meta.dirname, '../../samples/nats-subscriber');
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
export interface RunningSubscriber extends AsyncDisposable {
  readonly told: readonly ToldEvent[];
  /** What it said besides. */
  readonly complaints: () => string;
  /** Waits until it was told so many events that `which` means. */
  until(count: number, which: (event: ToldEvent) => boolean): Promise<void>;
}

/** Runs a sample as a process, with the environment that its README asks for, until it is disposed of. */
export function runSubscriber(
  stack: Stack,
  { seedFile, consumer }: MadeSubscriber,
  command: string,
  ...args: string[]
): RunningSubscriber {
  const { url, caFile } = stack.nats;
  const env = { NATS_URL: url, NATS_SEED_FILE: seedFile, NATS_CONSUMER: consumer };
  const program = runProgram(command, args, caFile === undefined ? env : { ...env, NATS_CA_FILE: caFile });
  const told = (): ToldEvent[] => program.printed();
  return {
    get told() {
      return told();
    },
    complaints: () => program.complaints(),
    until: (count, which) =>
      eventually(
        () => {
          const found = told().filter(which).length;
          expect({ enough: found >= count, found, complaints: program.complaints() }).toMatchObject({ enough: true });
        },
        { timeoutMs: SEEN_WITHIN_MS },
      ),
    [Symbol.asyncDispose]: () => program[Symbol.asyncDispose](),
  };
}
