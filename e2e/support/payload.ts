import { createCipheriv, createHash } from 'node:crypto';

const CHUNK_BYTES = 64 * 1024;
const ZEROS = Buffer.alloc(CHUNK_BYTES);
const NO_IV = Buffer.alloc(16);

/**
 * Bytes that follow from a name (AES-CTR, keyed by it), so that both ends know them without a word. Two names have
 * nothing in common: bytes that got into the wrong connection, or are lost, or came twice, change the hash.
 */
export function* payload(name: string, bytes: number, chunkBytes = CHUNK_BYTES): Generator<Buffer> {
  const key = createHash('sha256').update(name).digest().subarray(0, 16);
  const stream = createCipheriv('aes-128-ctr', key, NO_IV);
  for (let left = bytes; left > 0; left -= chunkBytes) {
    yield stream.update(ZEROS.subarray(0, Math.min(left, chunkBytes)));
  }
}

/** SHA-256 of a payload, in hexadecimal. */
export function payloadHash(name: string, bytes: number): string {
  const hash = createHash('sha256');
  for (const chunk of payload(name, bytes)) hash.update(chunk);
  return hash.digest('hex');
}
