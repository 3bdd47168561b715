import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { FairleadError, messageOf } from '@fairlead/errors';
import type { Files, ObjectStore } from './object-store.js';

/** The owner of files, as a user's and group's number. */
export type Owner = number;

export interface FolderStoreOptions {
  /** Has `secrets/<name>` and `config/<name>` for each object: a volume each, or plain folders. */
  readonly dir: string;
  /** Whose a Secret is to be; undefined: whoever runs this. */
  readonly ownerOf: (secret: string) => Owner | undefined;
}

export interface FolderStore extends ObjectStore {
  /** Writes files into `secrets/<name>` itself, each anew: copies of what other Secrets have. */
  putSecretFiles(name: string, files: Files): Promise<void>;
}

/** In the folder of a Secret. A name of its own, because a volume itself cannot be put in place in one step. */
const CURRENT = 'current';
/** As Kubernetes has it for a Secret. */
const MAX_BYTES = 1_048_576;
const [PRIVATE, PRIVATE_DIR, PUBLIC] = [0o600, 0o700, 0o644];

/**
 * Keeps objects in folders: each Secret is the folder `secrets/<name>/current` with its files, 0600 and of its owner, and is there as a whole or
 * not at all; each ConfigMap is `config/<name>`, readable by everybody, and its files are replaced one by one. NOT_FOUND when an object's
 * folder is missing, CONFLICT when a Secret is there already, INTERNAL for what the file system says besides.
 */
export function createFolderStore({ dir, ownerOf }: FolderStoreOptions): FolderStore {
  const folderOf = (kind: 'secrets' | 'config', name: string): string => join(dir, kind, name);
  return {
    async readSecret(name) {
      const folder = folderOf('secrets', name);
      await requireFolder(folder);
      return readFiles(join(folder, CURRENT));
    },
    async createSecret(name, files) {
      await createWhole(folderOf('secrets', name), files, ownerOf(name));
    },
    async putConfigMap(name, files) {
      const folder = folderOf('config', name);
      await requireFolder(folder);
      for (const [file, text] of Object.entries(files)) await replaceFile(join(folder, file), text, PUBLIC);
    },
    async putSecretFiles(name, files) {
      const folder = folderOf('secrets', name);
      await requireFolder(folder);
      for (const [file, text] of Object.entries(files))
        await replaceFile(join(folder, file), text, PRIVATE, ownerOf(name));
    },
  };
}

/** Gives a folder for data to whoever writes there, and nobody else sees into it. May be repeated. */
export function giveFolder(folder: string, owner: Owner): Promise<void> {
  return failing(`giving ${folder} to the user ${owner}`, async () => {
    const { uid } = await using(folder, (handle) => handle.stat());
    // Only its owner may change what others may do.
    if (uid === process.getuid?.()) await chmod(folder, PRIVATE_DIR);
    if (uid !== owner) await chown(folder, owner, owner);
  });
}

async function createWhole(folder: string, files: Files, owner: Owner | undefined): Promise<void> {
  const fresh = join(folder, `.new-${randomBytes(6).toString('hex')}`);
  try {
    await failing(`writing ${folder}`, async () => {
      await mkdir(fresh, { mode: PRIVATE_DIR });
      for (const [file, text] of Object.entries(files)) await writeDurably(join(fresh, file), text, PRIVATE, owner);
      await sync(fresh);
      if (owner !== undefined) await chown(fresh, owner, owner);
      await rename(fresh, join(folder, CURRENT));
      await sync(folder);
    });
  } catch (error) {
    await rm(fresh, { recursive: true, force: true });
    throw error;
  }
}

async function replaceFile(path: string, text: string, mode: number, owner?: Owner): Promise<void> {
  const folder = dirname(path);
  const fresh = join(folder, `.new-${randomBytes(6).toString('hex')}`);
  await failing(`writing ${path}`, async () => {
    await writeDurably(fresh, text, mode, owner);
    await rename(fresh, path);
    await sync(folder);
  });
}

async function readFiles(folder: string): Promise<Files | null> {
  return failing(`reading ${folder}`, async () => {
    const names = await readdir(folder).catch(nullIfAbsent);
    if (names === null) return null;
    const files: [string, string][] = [];
    for (const name of names) files.push([name, await using(join(folder, name), readBounded)]);
    return Object.fromEntries(files);
  });
}

type Handle = Awaited<ReturnType<typeof open>>;

async function readBounded(handle: Handle): Promise<string> {
  const { size } = await handle.stat();
  if (size > MAX_BYTES) throw new Error(`a file has ${size} bytes, and a Secret at most ${MAX_BYTES}`);
  return handle.readFile('utf8');
}

async function writeDurably(path: string, text: string, mode: number, owner?: Owner): Promise<void> {
  await using handle = await open(path, 'wx', mode);
  // Whatever the umask says.
  await handle.chmod(mode);
  await handle.writeFile(text);
  if (owner !== undefined) await handle.chown(owner, owner);
  await handle.sync();
}

const sync = (folder: string): Promise<void> => using(folder, (handle) => handle.sync());

async function using<T>(path: string, use: (handle: Handle) => Promise<T>): Promise<T> {
  await using handle = await open(path, 'r');
  return await use(handle);
}

async function requireFolder(folder: string): Promise<void> {
  const there = await failing(`looking into ${folder}`, () => readdir(folder).catch(nullIfAbsent));
  if (there === null) throw new FairleadError('NOT_FOUND', `there is no folder ${folder}: mount a volume there`);
}

function nullIfAbsent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}

async function failing<T>(what: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const there = code === 'ENOTEMPTY' || code === 'EEXIST';
    throw new FairleadError(there ? 'CONFLICT' : 'INTERNAL', `${what}: ${messageOf(cause)}`, { cause });
  }
}
