import { randomBytes } from 'node:crypto';
import { link, open, readFile, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { FairleadError, messageOf } from '@fairlead/errors';
import { MASTER_KEY_BYTES } from '../domain/sealing.js';

/**
 * Reads the master key: 32 bytes, base64. Null if there is no such file. Throws INVALID_ARGUMENT if anybody but the owner
 * may read it, or it is not a key.
 */
export async function readMasterKey(path: string): Promise<Buffer | null> {
  let text: string;
  try {
    const { mode } = await stat(path);
    if ((mode & 0o077) !== 0) throw refused(path, 'others can read it; run chmod 600 on it');
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof FairleadError) throw error;
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw refused(path, messageOf(error));
  }
  const key = Buffer.from(text.trim(), 'base64');
  if (key.length !== MASTER_KEY_BYTES) throw refused(path, `it does not hold ${MASTER_KEY_BYTES} bytes in base64`);
  return key;
}

/** Makes a new key. Never touches a file that is there; a process that dies half-way leaves none. */
export async function createMasterKey(path: string): Promise<Buffer> {
  const key = randomBytes(MASTER_KEY_BYTES);
  const draft = `${path}.${process.pid}.new`;
  try {
    await writeDurably(draft, `${key.toString('base64')}\n`);
    // Unlike a rename, this fails if somebody else made the file in the meantime.
    await link(draft, path);
    await syncFolder(dirname(path));
  } catch (error) {
    throw refused(path, `it cannot be created: ${messageOf(error)}`);
  } finally {
    await rm(draft, { force: true });
  }
  return key;
}

/** The CA's keys are lost without it, so it must be on disk before they are. */
async function writeDurably(path: string, text: string): Promise<void> {
  await using file = await open(path, 'wx', 0o600);
  await file.writeFile(text);
  await file.sync();
}

async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, 'r');
  await folder.sync();
}

function refused(path: string, reason: string): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', `FAIRLEAD_MASTER_KEY_FILE ${path}: ${reason}`);
}
