import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const SpoolState = z.object({
  version: z.literal(1),
  epoch: z.string().regex(/^[0-9a-f]{32}$/),
  /** All up to this number are somebody else's now. */
  acknowledged: z.int().min(0),
});
export type SpoolState = z.infer<typeof SpoolState>;

const pathIn = (dir: string): string => join(dir, 'state.json');

/** Null: there is none, or it cannot be read. Then only what was acknowledged is not known, and that is sent again. */
export async function readState(dir: string): Promise<SpoolState | null> {
  try {
    return SpoolState.parse(JSON.parse(await readFile(pathIn(dir), 'utf8')));
  } catch {
    return null;
  }
}

/** Whole or not at all. */
export async function writeState(dir: string, state: Omit<SpoolState, 'version'>): Promise<void> {
  const fresh = `${pathIn(dir)}.new`;
  await writeFile(fresh, JSON.stringify({ version: 1, ...state }), { mode: 0o600 });
  await rename(fresh, pathIn(dir));
}
