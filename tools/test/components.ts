// Gets the testbed's components that the files of a run need, beside everything else: a file waits for those it needs, and no other.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { cpuSecondsOf } from './processes.js';
import type { Session } from './session.js';

export interface Fetch {
  /** CPU seconds, once all are here or cannot be had. */
  readonly done: Promise<number>;
}

/** Tests go first: a build takes what they leave. */
const NICE = 10;
/** How often the CPU time of the builds is read. */
const SAMPLE_MS = 1_000;

const TESTBED = join(import.meta.dirname, '..', 'testbed');

/** Begins at once, from source: nothing has to be compiled before. */
export function fetchComponents(names: readonly string[], session: Session): Fetch {
  if (names.length === 0) {
    session.setNothingMore();
    return { done: Promise.resolve(0) };
  }
  return { done: fetch(names, session) };
}

async function fetch(names: readonly string[], session: Session): Promise<number> {
  const args = ['--import', join(TESTBED, 'fixtures/from-source.mjs'), join(TESTBED, 'cli.ts'), 'fetch', ...names];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  if (child.pid !== undefined) setPriority(child.pid, NICE);
  let cpuS = 0;
  const sample = setInterval(() => (cpuS = Math.max(cpuS, cpuSecondsOf(child.pid!))), SAMPLE_MS);
  createInterface({ input: child.stdout }).on('line', (line) => session.setReady(line.split(' ')[0]!));
  const ended = once(child, 'close');
  try {
    await ended;
  } catch (error) {
    console.error(String(error));
  } finally {
    clearInterval(sample);
    session.setNothingMore();
  }
  return cpuS;
}
