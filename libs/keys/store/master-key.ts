import { randomBytes } from 'node:crypto';
import { link, open, readFile, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isPrivate } from '@fairlead/config';
import { FairleadError, messageOf } from '@fairlead/errors';
import { MASTER_KEY_BYTES } from '../domain/sealing.js';
import { envelopeSealer, localEncryption, type KeyEncryption, type Sealer } from './sealer.js';

/** Where a key is that others are encrypted with. */
export interface KeySource {
  /**
   * Makes the key where there is nothing yet that another one sealed, if it can. INVALID_ARGUMENT when it is missing, cannot be read, or
   * others can read it; UNAVAILABLE while the KMS that has it is away.
   */
  open(nothingSealed: boolean): Promise<KeyEncryption>;
}

/** What everything is sealed with. */
export interface MasterKey {
  /** As of a `KeySource`. */
  open(nothingSealed: boolean): Promise<Sealer>;
}

/** The first one seals; what any of the others sealed can still be opened, until it is sealed anew (feature/rewrap.ts). */
export function masterKeyFrom(seals: KeySource, others: readonly KeySource[] = []): MasterKey {
  return {
    open: async (nothingSealed) => {
      const first = await seals.open(nothingSealed);
      return envelopeSealer(first, await Promise.all(others.map((source) => source.open(false))));
    },
  };
}

/** 32 bytes, base64, in a file that only its owner may read. */
export function masterKeyInFile(path: string, setting = 'FAIRLEAD_MASTER_KEY_FILE'): KeySource {
  return {
    open: async (nothingSealed) => {
      const found = await readMasterKey(path, setting);
      if (found) return localEncryption(found);
      if (nothingSealed) return localEncryption(await createMasterKey(path, setting));
      throw refused(path, setting, 'it is missing, and what it sealed in the database cannot be used without it');
    },
  };
}

/** The same 32 bytes as text, from wherever they were injected. */
export function masterKeyGiven(text: string): KeySource {
  return {
    open: async () => {
      const key = parseKey(text);
      if (key) return localEncryption(key);
      throw new FairleadError('INVALID_ARGUMENT', `FAIRLEAD_MASTER_KEY: it is not ${MASTER_KEY_BYTES} bytes in base64`);
    },
  };
}

/** Null if there is no such file. */
async function readMasterKey(path: string, setting: string): Promise<Buffer | null> {
  let text: string;
  try {
    if (!isPrivate(await stat(path))) throw refused(path, setting, 'others can read it; run chmod 600 on it');
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof FairleadError) throw error;
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw refused(path, setting, messageOf(error));
  }
  const key = parseKey(text);
  if (!key) throw refused(path, setting, `it does not hold ${MASTER_KEY_BYTES} bytes in base64`);
  return key;
}

function parseKey(text: string): Buffer | null {
  const key = Buffer.from(text.trim(), 'base64');
  return key.length === MASTER_KEY_BYTES ? key : null;
}

/** Makes a new key. Never touches a file that is there; a process that dies half-way leaves none. */
async function createMasterKey(path: string, setting: string): Promise<Buffer> {
  const key = randomBytes(MASTER_KEY_BYTES);
  const draft = `${path}.${process.pid}.new`;
  try {
    await writeDurably(draft, `${key.toString('base64')}\n`);
    // Unlike a rename, this fails if somebody else made the file in the meantime.
    await link(draft, path);
    await syncFolder(dirname(path));
  } catch (error) {
    throw refused(path, setting, `it cannot be created: ${messageOf(error)}`);
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

function refused(path: string, setting: string, reason: string): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', `${setting} ${path}: ${reason}`);
}
