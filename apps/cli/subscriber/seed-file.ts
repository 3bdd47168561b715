import { access } from 'node:fs/promises';
import { createUser } from '@nats-io/nkeys';
import { failure } from '../failure.js';

/** ALREADY_EXISTS if the file is there. */
export async function refuseExistingFile(path: string): Promise<void> {
  const exists = await access(path).then(
    () => true,
    () => false,
  );
  if (!exists) return;
  throw failure('ALREADY_EXISTS', `${path} exists`, 'choose another file with --out, or add --force to replace it');
}

/** A new nkey of a user. The seed is the secret. */
export function newNkey(): { readonly seed: string; readonly publicKey: string } {
  const pair = createUser();
  return { seed: new TextDecoder().decode(pair.getSeed()), publicKey: pair.getPublicKey() };
}
