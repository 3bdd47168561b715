import { randomBytes } from 'node:crypto';
import { open, readFile, stat } from 'node:fs/promises';
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

/** Makes a new key. Never touches a file that is there. */
export async function createMasterKey(path: string): Promise<Buffer> {
  const key = randomBytes(MASTER_KEY_BYTES);
  try {
    await using file = await open(path, 'wx', 0o600);
    await file.writeFile(`${key.toString('base64')}\n`);
    // The CA's keys are lost without it, so it must be on disk before they are.
    await file.sync();
  } catch (error) {
    throw refused(path, `it cannot be created: ${messageOf(error)}`);
  }
  return key;
}

function refused(path: string, reason: string): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', `FAIRLEAD_MASTER_KEY_FILE ${path}: ${reason}`);
}
