import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import lockfile from 'proper-lockfile';
import { TestbedError } from '../errors.js';
import type { Log } from '../log.js';

/** What stands in an entry's `entry.json`, written last: an entry without it does not exist. */
export interface CacheEntry {
  readonly version: string;
  readonly provider: 'download' | 'go';
  /** Where it came from, for people. */
  readonly source: string;
  /** Of the binary; checked on use. */
  readonly sha256: string;
}

export interface CacheKey {
  /** The directory of all entries of all components. */
  readonly root: string;
  /** The binary's file name, and the folder of its entries. */
  readonly name: string;
  /** `<version>-<digest>-<os>-<arch>`. */
  readonly entry: string;
}

export interface Found {
  readonly path: string;
  readonly entry: CacheEntry;
}

// The holder renews its lock every few seconds; one that has not for this long died and is taken over.
const STALE_MS = 20_000;
const HEARTBEAT_MS = 4_000;

/** The usable entry of a key, or undefined. A binary that is not what was recorded does not count. */
export async function lookUp(key: CacheKey): Promise<Found | undefined> {
  const dir = join(key.root, key.name, key.entry);
  const path = join(dir, key.name);
  try {
    const entry = JSON.parse(await readFile(join(dir, 'entry.json'), 'utf8')) as CacheEntry;
    return (await isIntact(path, entry.sha256)) ? { path, entry } : undefined;
  } catch {
    return undefined;
  }
}

/** The names of the entries of a component, complete or not. */
export async function listEntries(root: string, name: string): Promise<string[]> {
  const names = await readdir(join(root, name)).catch(() => []);
  return names.filter((entry) => !entry.includes('.tmp-') && !entry.endsWith('.lock')).sort();
}

export interface FillOptions {
  readonly log: Log;
  readonly signal?: AbortSignal | undefined;
  /** Puts the binary at `path` (its directory is there and empty) and says what it is. Must stop when the signal aborts. */
  readonly make: (path: string, signal: AbortSignal) => Promise<Omit<CacheEntry, 'sha256'>>;
}

/**
 * The entry of a key, made first if it is not there. Of several processes (or calls) that ask at once one makes it and the others
 * wait for it; it appears whole or not at all.
 */
export async function fill(key: CacheKey, options: FillOptions): Promise<Found> {
  const present = await lookUp(key);
  if (present) return present;
  const dir = join(key.root, key.name, key.entry);
  await mkdir(dirname(dir), { recursive: true, mode: 0o700 });
  return withLock(dir, options, async (signal) => {
    const madeByOther = await lookUp(key);
    if (madeByOther) return madeByOther;
    await removeLeftovers(dir);
    const temporary = `${dir}.tmp-${process.pid}-${randomBytes(4).toString('hex')}`;
    await mkdir(temporary, { mode: 0o700 });
    try {
      const path = join(temporary, key.name);
      const entry = { ...(await options.make(path, signal)), sha256: await sha256Of(path) };
      await writeFile(join(temporary, 'entry.json'), JSON.stringify(entry));
      signal.throwIfAborted();
      await rename(temporary, dir);
      return { path: join(dir, key.name), entry };
    } finally {
      await rm(temporary, { recursive: true, force: true });
    }
  });
}

/** What a maker that died left, and an entry that no longer is what it was. Only the holder of the lock may call it. */
async function removeLeftovers(dir: string): Promise<void> {
  const prefix = `${basename(dir)}.tmp-`;
  for (const name of await readdir(dirname(dir))) {
    if (name === basename(dir) || name.startsWith(prefix))
      await rm(join(dirname(dir), name), { recursive: true, force: true });
  }
}

async function withLock<T>(dir: string, options: FillOptions, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const lost = new AbortController();
  const release = await acquire(dir, options, (error) =>
    lost.abort(new TestbedError('lost the lock of the cache', { cause: error })),
  );
  try {
    return await work(options.signal ? AbortSignal.any([options.signal, lost.signal]) : lost.signal);
  } finally {
    await release().catch(() => {});
  }
}

async function acquire(dir: string, { log, signal }: FillOptions, onCompromised: (error: Error) => void) {
  for (let waits = 0; ; waits++) {
    signal?.throwIfAborted();
    try {
      return await lockfile.lock(dir, { realpath: false, stale: STALE_MS, update: HEARTBEAT_MS, onCompromised });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ELOCKED') throw error;
    }
    // 0 s, then about every 30 s.
    if (waits % 150 === 0) log(`waiting for another process that is getting ${basename(dirname(dir))}`);
    await sleep(200, undefined, signal ? { signal } : {});
  }
}

/**
 * Whether a binary is what was recorded. What was read once is noted beside it: 100 MB take 0.3 s, in each of many processes. A
 * file that was written to or replaced since is read again; who may write the note may write the record too.
 */
async function isIntact(path: string, recorded: string): Promise<boolean> {
  const note = `${path}.checked`;
  const present = `${recorded} ${await identityOf(path)}`;
  if ((await readFile(note, 'utf8').catch(() => undefined)) === present) return true;
  if ((await sha256Of(path)) !== recorded) return false;
  const fresh = `${note}.tmp-${process.pid}-${randomBytes(4).toString('hex')}`;
  // Where nobody may write, everybody reads.
  await writeFile(fresh, present, { mode: 0o600 }).then(
    () => rename(fresh, note),
    () => undefined,
  );
  return true;
}

/** Of a file: another one once its content, its owner or its rights were changed. The kernel alone sets `ctime`. */
async function identityOf(path: string): Promise<string> {
  const { size, mtimeNs, ctimeNs, ino } = await stat(path, { bigint: true });
  return [size, mtimeNs, ctimeNs, ino].join(':');
}

const known = new Map<string, string>();

/** Of a file's content; remembered by what tells it from another one, as the same binary is asked for many times. */
export async function sha256Of(path: string): Promise<string> {
  const id = `${path}:${await identityOf(path)}`;
  const before = known.get(id);
  if (before !== undefined) return before;
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  const sum = hash.digest('hex');
  known.set(id, sum);
  return sum;
}
