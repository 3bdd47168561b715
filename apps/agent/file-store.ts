import type { Stats } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { TextStore } from '@fairlead/agent';
import { FairleadError } from '@fairlead/errors';
import { z } from 'zod';

const Values = z.record(z.string(), z.string());

/** Rights that nobody but the owner may have. */
const OTHERS = 0o077;
/** Of these, what the kubelet gives to no group. */
const BEYOND_GROUP = 0o017;
const WORLD_WRITE = 0o002;
const SETGID = 0o2000;

/**
 * Values in one file that only its owner may read, replaced as a whole: after a crash it holds the old values or the new
 * ones. INTERNAL if it holds neither; FORBIDDEN if others can read or write it, but for what the kubelet does to a pod's volume, which is undone.
 */
export function fileStore(path: string): TextStore {
  const read = async (): Promise<Record<string, string>> => {
    try {
      return Values.parse(JSON.parse(await readPrivate(path)));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
      if (error instanceof FairleadError) throw error;
      throw new FairleadError('INTERNAL', `${path} cannot be read as an identity`, { cause: error });
    }
  };
  const write = async (values: Readonly<Record<string, string>>): Promise<void> => {
    const next = `${path}.new`;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const text = JSON.stringify({ ...(await read()), ...values });
    // What a crash left there goes; what somebody else puts there in between, a link perhaps, is not written to.
    await rm(next, { force: true });
    await using file = await open(next, 'wx', 0o600);
    await file.writeFile(text);
    await file.sync();
    await rename(next, path);
  };
  let writing: Promise<unknown> = Promise.resolve();
  return {
    read: async () => ({ values: await read() }),
    // One after the other: two at once would take each other's file.
    write: (values) => {
      const written = writing.then(() => write(values));
      writing = written.catch(() => undefined);
      return written;
    },
  };
}

async function readPrivate(path: string): Promise<string> {
  await using file = await open(path, 'r');
  const access = await file.stat();
  const { mode } = access;
  if ((mode & OTHERS) === 0) return await file.readFile('utf8');
  if (await isOfPodVolume(path, access)) {
    await file.chmod(0o600);
    return await file.readFile('utf8');
  }
  throw new FairleadError(
    'FORBIDDEN',
    `${path} holds a private key and others can read or write it (mode ${(mode & 0o777).toString(8)}): chmod 600`,
  );
}

/**
 * Did the kubelet give a pod's group its rights to a volume (`fsGroup`)? It does so each time it mounts one, before anything of the pod
 * runs, to our own file as well: group read and write, in folders whose setgid bit hands the group on. The group is of that pod alone.
 * Anywhere else a group is other people.
 */
async function isOfPodVolume(path: string, { mode, uid, gid }: Stats): Promise<boolean> {
  if ((mode & BEYOND_GROUP) !== 0 || uid !== process.geteuid?.()) return false;
  const folder = await stat(dirname(path));
  const isOurs = process.getegid?.() === gid || process.getgroups?.().includes(gid) === true;
  return isOurs && (folder.mode & SETGID) !== 0 && (folder.mode & WORLD_WRITE) === 0 && folder.gid === gid;
}
