import { readFileSync, statSync } from 'node:fs';
import { FairleadError, messageOf } from '@fairlead/errors';
import { createUser, fromSeed } from '@nats-io/nkeys';

export interface Nkey {
  /** The secret half; it belongs in a 0600 file. */
  readonly seed: string;
  /** The public half, for the server's configuration. */
  readonly publicKey: string;
}

/** A new user key pair for a NATS credential. */
export function createNkey(): Nkey {
  return describe(createUser());
}

/** The key pair of an existing seed. Throws INVALID_ARGUMENT, without repeating the seed. */
export function nkeyFromSeed(seed: string): Nkey {
  try {
    return describe(fromSeed(new TextEncoder().encode(seed)));
  } catch {
    throw new FairleadError('INVALID_ARGUMENT', 'the NATS seed is not a valid nkey seed');
  }
}

/** Reads a seed. Throws INVALID_ARGUMENT if others than the owner can read the file, or it holds no seed. */
export function readSeedFile(path: string): string {
  let text: string;
  try {
    if ((statSync(path).mode & 0o077) !== 0) {
      throw new FairleadError('INVALID_ARGUMENT', `${path}: others can read this secret; run chmod 600 on it`);
    }
    text = readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (error instanceof FairleadError) throw error;
    throw new FairleadError('INVALID_ARGUMENT', `cannot read the NATS seed file: ${messageOf(error)}`);
  }
  return nkeyFromSeed(text).seed;
}

function describe(pair: ReturnType<typeof createUser>): Nkey {
  return { seed: new TextDecoder().decode(pair.getSeed()), publicKey: pair.getPublicKey() };
}
