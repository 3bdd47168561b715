import { chmod, mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { TextStore } from '@fairlead/agent';
import { FairleadError } from '@fairlead/errors';
import { z } from 'zod';

const Values = z.record(z.string(), z.string());

/**
 * Values in one file that only its owner may read, replaced as a whole: after a crash it holds the old values or the new
 * ones. INTERNAL if it holds neither.
 */
export function fileStore(path: string): TextStore {
  const read = async (): Promise<Record<string, string>> => {
    try {
      return Values.parse(JSON.parse(await readFile(path, 'utf8')));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
      throw new FairleadError('INTERNAL', `${path} cannot be read as an identity`, { cause: error });
    }
  };
  return {
    read,
    write: async (values) => {
      const next = `${path}.new`;
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await using file = await open(next, 'w', 0o600);
      await file.writeFile(JSON.stringify({ ...(await read()), ...values }));
      await file.sync();
      await chmod(next, 0o600);
      await rename(next, path);
    },
  };
}
