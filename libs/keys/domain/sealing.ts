import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { FairleadError } from '@fairlead/errors';

export const MASTER_KEY_BYTES = 32;

const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts bytes with AES-256-GCM: version, nonce, tag, ciphertext. `context` names what it is, and must be the same to
 * open it, so that one sealed secret cannot be put in another's place.
 */
export function sealBytes(key: Uint8Array, secret: Uint8Array, context: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  cipher.setAAD(Buffer.from(context));
  const sealed = Buffer.concat([cipher.update(secret), cipher.final()]);
  return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), sealed]);
}

/** Opens what `sealBytes` made. Throws INVALID_ARGUMENT for another key, another context, or changed bytes. */
export function unsealBytes(key: Uint8Array, sealed: Uint8Array, context: string): Buffer {
  const body = 1 + NONCE_BYTES + TAG_BYTES;
  if (sealed.length < body || sealed[0] !== VERSION) throw unreadable();
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(1, 1 + NONCE_BYTES));
  decipher.setAAD(Buffer.from(context));
  decipher.setAuthTag(sealed.subarray(1 + NONCE_BYTES, body));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(body)), decipher.final()]);
  } catch {
    throw unreadable();
  }
}

/** What was sealed cannot be opened. */
export function unreadable(): FairleadError {
  return new FairleadError(
    'INVALID_ARGUMENT',
    "the CA's keys were sealed with another master key: restore the master key that belongs to this database",
  );
}
