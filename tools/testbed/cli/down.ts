import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { endProcess, isRunning } from '../process/identity.js';
import { claimDataDir, releaseDataDir } from '../process/ownership.js';
import { COMPONENT_DIRS, readState, removeState } from './state.js';

// Longer than a server may take to stop: the supervisor stops three in turn.
const GRACE_MS = 40_000;

/** Ends the process of `up` by its recorded pid, after checking that it still is that process, and servers it left behind. */
export async function down(dir: string): Promise<void> {
  const root = resolve(dir);
  const state = await readState(root);
  if (state && (await isRunning(state.supervisor))) {
    await endProcess(state.supervisor, 'SIGTERM', GRACE_MS);
    console.log(`ended pid ${state.supervisor.pid}`);
  } else {
    console.log(`nothing is up in ${root}`);
  }
  await removeState(root);
  for (const name of COMPONENT_DIRS) await endOrphans(join(root, name));
}

async function endOrphans(dataDir: string): Promise<void> {
  if (!(await stat(dataDir).catch(() => undefined))) return;
  await claimDataDir(dataDir);
  await releaseDataDir(dataDir);
}
