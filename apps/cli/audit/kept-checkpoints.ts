import { createHash } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { failure } from '../failure.js';
import { writePrivateFile } from '../session/login-store.js';
import { parseJson } from '../session/parse-json.js';

/** The newest checkpoint of one audit log that this user has verified, and the key that signed it. */
const KeptCheckpoint = z.object({
  version: z.literal(1),
  origin: z.string().min(1),
  verifierKey: z.string().min(1),
  checkpoint: z.string().min(1),
});
export type KeptCheckpoint = Omit<z.infer<typeof KeptCheckpoint>, 'version'>;

const FOLDER = 'audit-logs';

/** Where it is kept. `log`: the server and the tenant. */
export function keptPath(home: string, log: string): string {
  return join(home, FOLDER, `${createHash('sha256').update(log).digest('hex').slice(0, 32)}.json`);
}

/** Undefined: none was verified before. What is there and cannot be read is an error: without it nobody would see that a log was rewritten. */
export async function findKept(path: string): Promise<KeptCheckpoint | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const parsed = KeptCheckpoint.safeParse(parseJson(text));
  if (!parsed.success) {
    throw failure(
      'INVALID_ARGUMENT',
      `${path} is not the checkpoint that was verified last`,
      `restore the file; or delete it, and the log is compared with nothing that was seen before`,
    );
  }
  return parsed.data;
}

export async function keepCheckpoint(home: string, path: string, kept: KeptCheckpoint): Promise<void> {
  await mkdir(join(home, FOLDER), { recursive: true, mode: 0o700 });
  await writePrivateFile(path, `${JSON.stringify({ version: 1, ...kept }, null, 2)}\n`);
}
