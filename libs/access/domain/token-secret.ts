import { createHash, randomBytes } from 'node:crypto';

const SECRET_BYTES = 32;
/** So that scanners of repositories and people know one where they see it. */
const MARK = 'fairlead_';

/** A new secret: 256 random bits, of letters, digits, `-` and `_`. */
export function newTokenSecret(): string {
  return MARK + randomBytes(SECRET_BYTES).toString('base64url');
}

/** What is stored of a secret: SHA-256, base64. No salt and no slow hash, because there is nothing to guess in 256 random bits. */
export function hashOfSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('base64');
}
