import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { FairleadError } from '@fairlead/errors';

export const MASTER_KEY_BYTES = 32;

const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts a secret with AES-256-GCM: version, nonce, tag, ciphertext. `context` names what it is, and must be the same to
 * open it, so that one sealed secret cannot be put in another's place.
 */
export function seal(masterKey: Uint8Array, secret: string, context: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', masterKey, nonce);
  cipher.setAAD(Buffer.from(context));
  const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
  return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), sealed]);
}

/** Opens what `seal` made. Throws INVALID_ARGUMENT for another master key, another context, or changed bytes. */
export function unseal(masterKey: Uint8Array, sealed: Uint8Array, context: string): string {
  const body = 1 + NONCE_BYTES + TAG_BYTES;
  if (sealed.length < body || sealed[0] !== VERSION) throw unreadable();
  const decipher = createDecipheriv('aes-256-gcm', masterKey, sealed.subarray(1, 1 + NONCE_BYTES));
  decipher.setAAD(Buffer.from(context));
  decipher.setAuthTag(sealed.subarray(1 + NONCE_BYTES, body));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(body)), decipher.final()]).toString('utf8');
  } catch {
    throw unreadable();
  }
}

function unreadable(): FairleadError {
  return new FairleadError(
    'INVALID_ARGUMENT',
    "the CA's keys were sealed with another master key: restore the FAIRLEAD_MASTER_KEY_FILE that belongs to this database",
  );
}
