import { FairleadError } from '@fairlead/errors';
import { seal, unseal } from '../domain/sealing.js';
import { createMasterKey, readMasterKey } from './master-key-file.js';

/** Keeps secrets that only this installation's master key opens. */
export interface Sealer {
  /** `context` names what it is; it opens under the same name only. */
  seal(secret: string, context: string): Promise<Buffer>;
  /** INVALID_ARGUMENT for another master key, another context, or changed bytes. */
  unseal(sealed: Uint8Array, context: string): Promise<string>;
}

/**
 * Reads the master key, or makes it where there is nothing yet that another one sealed. INVALID_ARGUMENT when it is missing, cannot be
 * read, or others can read it.
 */
export async function openSealer(masterKeyFile: string, nothingSealed: boolean): Promise<Sealer> {
  const found = await readMasterKey(masterKeyFile);
  if (found) return localSealer(found);
  if (nothingSealed) return localSealer(await createMasterKey(masterKeyFile));
  throw new FairleadError(
    'INVALID_ARGUMENT',
    `FAIRLEAD_MASTER_KEY_FILE ${masterKeyFile}: it is missing, and the CA in the database cannot be used without it`,
  );
}

function localSealer(masterKey: Buffer): Sealer {
  return {
    seal: async (secret, context) => seal(masterKey, secret, context),
    unseal: async (sealed, context) => unseal(masterKey, sealed, context),
  };
}
