import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder of its own for one test: `await using scratch = await scratchDir()`. */
export interface ScratchDir extends AsyncDisposable {
  readonly path: string;
  /** A path inside it; nothing is created. */
  file(...parts: string[]): string;
}

/** Makes an empty folder, readable by its owner only; it and all in it go away when disposed. */
export async function scratchDir(prefix = 'fairlead-'): Promise<ScratchDir> {
  const path = await mkdtemp(join(tmpdir(), prefix));
  return {
    path,
    file: (...parts) => join(path, ...parts),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 3 }),
  };
}
