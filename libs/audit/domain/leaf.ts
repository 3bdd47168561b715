import { commitToBody, newNonce } from '@fairlead/transparency-log';

/** An entry's place in its tenant's transparency log: it commits to the body, and tells nothing of it. */
export interface Leaf {
  /** With the body it is erased; without it nobody can try out what an erased body was. 32 bytes. */
  readonly nonce: Buffer;
  readonly bytes: Buffer;
}

/** `{"v":1,"commitment":"<SHA-256 of nonce and body, base64>"}` */
export function leafOf(body: string, nonce: Buffer = Buffer.from(newNonce())): Leaf {
  const commitment = Buffer.from(commitToBody(nonce, Buffer.from(body))).toString('base64');
  return { nonce, bytes: Buffer.from(JSON.stringify({ v: 1, commitment })) };
}
