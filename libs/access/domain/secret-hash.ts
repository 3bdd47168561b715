import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

const SECRET_BYTES = 32;

/** 256 random bits. */
export function newSecret(): Buffer {
  return randomBytes(SECRET_BYTES);
}

/**
 * What is stored of a secret: SHA-256, base64. No salt and no slow hash, because there is nothing to guess in 256 random
 * bits.
 */
export function hashSecret(secret: Uint8Array | string): string {
  return createHash('sha256').update(secret).digest('base64');
}

/** Do two hashes agree? The time does not tell where they differ. */
export function sameHash(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left, 'base64'), Buffer.from(right, 'base64')];
  return a.length === b.length && timingSafeEqual(a, b);
}
