import { createHash, randomBytes } from 'node:crypto';

/** An entry's place in its tenant's transparency log: it commits to the body, and tells nothing of it. */
export interface Leaf {
  /** With the body it is erased; without it nobody can try out what an erased body was. 32 bytes. */
  readonly nonce: Buffer;
  readonly bytes: Buffer;
}

const NONCE_BYTES = 32;

/** `{"v":1,"commitment":"<SHA-256 of nonce and body, base64>"}` */
export function leafOf(body: string, nonce: Buffer = randomBytes(NONCE_BYTES)): Leaf {
  const commitment = createHash('sha256').update(nonce).update(body, 'utf8').digest('base64');
  return { nonce, bytes: Buffer.from(JSON.stringify({ v: 1, commitment })) };
}
