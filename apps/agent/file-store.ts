import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { TextStore } from '@fairlead/agent';
import { FairleadError } from '@fairlead/errors';
import { z } from 'zod';

const Values = z.record(z.string(), z.string());

/** Rights that nobody but the owner may have. */
const OTHERS = 0o077;

/**
 * Values in one file that only its owner may read, replaced as a whole: after a crash it holds the old values or the new
 * ones. INTERNAL if it holds neither; FORBIDDEN if others can read or write it.
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
  return {
    read,
    write: async (values) => {
      const next = `${path}.new`;
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const text = JSON.stringify({ ...(await read()), ...values });
      // What a crash left there goes; what somebody else puts there in between, a link perhaps, is not written to.
      await rm(next, { force: true });
      await using file = await open(next, 'wx', 0o600);
      await file.writeFile(text);
      await file.sync();
      await rename(next, path);
    },
  };
}

async function readPrivate(path: string): Promise<string> {
  await using file = await open(path, 'r');
  const { mode } = await file.stat();
  if ((mode & OTHERS) === 0) return await file.readFile('utf8');
  throw new FairleadError(
    'FORBIDDEN',
    `${path} holds a private key and others can read or write it (mode ${(mode & 0o777).toString(8)}): chmod 600`,
  );
}
