import { access, mkdir, open, readFile, realpath, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '@fairlead/errors';
import { failure } from '../failure.js';
import { writeAtOnce } from '../session/login-store.js';
import type { Kubeconfig } from './kubeconfig.js';
import { mergeKubeconfig } from './merge-kubeconfig.js';

/** As kubectl has them; an existing file keeps its own. */
const NEW_FILE_MODE = 0o600;
const LOCK_TRIES = 20;
const LOCK_WAIT_MS = 100;

/** Where kubectl itself would write: the first of these files that is there, else the last (client-go, `GetDefaultFilename`). */
export async function kubeconfigToWrite(candidates: readonly string[]): Promise<string> {
  for (const path of candidates) if (await isThere(path)) return path;
  return candidates.at(-1) ?? '';
}

/**
 * Puts these entries into a kubeconfig file, which is made if it is missing; on any error it stays as it was. While it is at it the file has the
 * lock that kubectl respects: CONFLICT if somebody else holds it.
 */
export async function mergeIntoFile(path: string, ours: Kubeconfig): Promise<void> {
  await mkdir(dirname(resolve(path)), { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw failure('INTERNAL', `cannot make ${dirname(path)}: ${messageOf(error)}`, 'choose another file', error);
  });
  // Beside a link its file is not to be found: the link is kept, and what it leads to is replaced.
  const real = await realpath(path).catch(() => resolve(path));
  await withLock(real, async () => {
    const text = await readFile(real, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw failure('INTERNAL', `cannot read ${path}: ${error.message}`, 'check who owns it', error);
    });
    const mode = await stat(real).then(
      (found) => found.mode & 0o777,
      () => NEW_FILE_MODE,
    );
    await writeAtOnce(real, mergeKubeconfig(text, ours, path), mode);
  });
}

/** client-go (clientcmd, `lockFile`): whoever makes `<file>.lock` may write. */
async function withLock(path: string, write: () => Promise<void>): Promise<void> {
  const lock = `${path}.lock`;
  for (let tries = 1; ; tries += 1) {
    try {
      await (await open(lock, 'wx', NEW_FILE_MODE)).close();
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
        throw failure('INTERNAL', `cannot write ${lock}: ${messageOf(error)}`, 'check the folder', error);
      }
      if (tries === LOCK_TRIES) throw isLocked(path, lock);
      await delay(LOCK_WAIT_MS);
    }
  }
  try {
    await write();
  } finally {
    await rm(lock, { force: true });
  }
}

function isLocked(path: string, lock: string): Error {
  return failure('CONFLICT', `another program is writing ${path}`, `try again; if there is none, delete ${lock}`);
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
