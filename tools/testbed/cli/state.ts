import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProcessIdentity } from '../process/identity.js';

/** What `up` leaves in its directory for `down`, and for a detached start to report. */
export interface UpState {
  /** The process that runs `up` and owns the servers. */
  readonly supervisor: ProcessIdentity;
  /** Shell variables by name. */
  readonly variables: Readonly<Record<string, string>>;
}

const FILE = 'up.json';

/** The folders of the components in the directory of `up`. */
export const COMPONENT_DIRS = ['nats', 'postgres', 'kubernetes'] as const;

/** The state a running `up` wrote, or undefined. */
export async function readState(dir: string): Promise<UpState | undefined> {
  try {
    return JSON.parse(await readFile(join(dir, FILE), 'utf8')) as UpState;
  } catch {
    return undefined;
  }
}

/** Mode 0600: the variables hold the database's password. */
export async function writeState(dir: string, state: UpState): Promise<void> {
  const path = join(dir, FILE);
  await writeFile(`${path}.new`, JSON.stringify(state, undefined, 2), { mode: 0o600 });
  await rename(`${path}.new`, path);
}

export async function removeState(dir: string): Promise<void> {
  await rm(join(dir, FILE), { force: true });
}
