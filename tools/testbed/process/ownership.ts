import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TestbedError } from '../errors.js';
import { endProcess, identify, isRunning, type ProcessIdentity } from './identity.js';
import type { Child } from './launch.js';

/** Who runs what on a data directory: `processes.json` there. */
interface Ownership {
  readonly owner: ProcessIdentity;
  readonly children: readonly (ProcessIdentity & Pick<Child, 'name' | 'stopSignal'>)[];
}

const FILE = 'processes.json';
const ORPHAN_GRACE_MS = 5_000;

/**
 * Makes the data directory this process's: refuses while another live process runs servers on it, and ends servers left behind
 * by a process that is gone (two servers on one data directory destroy it).
 */
export async function claimDataDir(dataDir: string, mode = 0o700): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode });
  const before = await readOwnership(dataDir);
  if (!before) return;
  const live = [];
  for (const child of before.children) if (await isRunning(child)) live.push(child);
  if (live.length === 0) return;
  if (await isRunning(before.owner)) {
    const names = live.map((child) => `${child.name} (pid ${child.pid})`).join(', ');
    throw new TestbedError(`${dataDir} is in use: ${names} runs on it, started by pid ${before.owner.pid}`);
  }
  // Last started, first stopped: kube-apiserver before its etcd.
  for (const orphan of live.toReversed()) await endProcess(orphan, orphan.stopSignal, ORPHAN_GRACE_MS);
}

/** Records the running servers of a data directory, so that a later start can tell an orphan from a server in use. */
export async function recordChildren(dataDir: string, children: readonly Child[]): Promise<void> {
  const owner = await identify(process.pid);
  if (!owner) throw new TestbedError(`the start time of this process (pid ${process.pid}) cannot be read`);
  const known = [];
  for (const child of children) {
    const identity = await identify(child.pid);
    if (identity) known.push({ name: child.name, stopSignal: child.stopSignal, ...identity });
  }
  const path = join(dataDir, FILE);
  await writeFile(`${path}.new`, JSON.stringify({ owner, children: known } satisfies Ownership), { mode: 0o600 });
  await rename(`${path}.new`, path);
}

/** Forgets the servers of a data directory: they were stopped in order. */
export async function releaseDataDir(dataDir: string): Promise<void> {
  await rm(join(dataDir, FILE), { force: true });
}

async function readOwnership(dataDir: string): Promise<Ownership | undefined> {
  try {
    return JSON.parse(await readFile(join(dataDir, FILE), 'utf8')) as Ownership;
  } catch {
    // Absent, or cut short by a crash between two starts: then nothing is known to run.
    return undefined;
  }
}
