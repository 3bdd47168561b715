import { createDecipheriv, createHmac, type CipherGCMTypes } from 'node:crypto';
import type { TlsRecord } from './records.js';

/** How a cipher suite of TLS 1.3 encrypts, and what it derives keys with (RFC 8446, appendix B.4). */
export interface Suite {
  readonly cipher: 'aes-128-gcm' | 'aes-256-gcm' | 'chacha20-poly1305';
  readonly hash: 'sha256' | 'sha384';
  readonly keyBytes: 16 | 32;
}

const SUITES: ReadonlyMap<number, Suite> = new Map([
  [0x13_01, { cipher: 'aes-128-gcm', hash: 'sha256', keyBytes: 16 }],
  [0x13_02, { cipher: 'aes-256-gcm', hash: 'sha384', keyBytes: 32 }],
  [0x13_03, { cipher: 'chacha20-poly1305', hash: 'sha256', keyBytes: 32 }],
]);
const HASH_BYTES = { sha256: 32, sha384: 48 } as const;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Throws for a number that no suite of TLS 1.3 of ours has. */
export function suiteOf(number: number): Suite {
  const suite = SUITES.get(number);
  if (!suite) throw new Error(`cipher suite 0x${number.toString(16)} is not one of TLS 1.3 that can be decrypted here`);
  return suite;
}

/** One direction's keys, from a traffic secret on. They count the records that they open: each must come once, in order. */
export class TrafficKeys {
  readonly #suite: Suite;
  #secret: Buffer;
  #key: Buffer;
  #iv: Buffer;
  #sequence = 0n;

  constructor(suite: Suite, secret: Buffer) {
    this.#suite = suite;
    this.#secret = secret;
    this.#key = expandLabel(suite, secret, 'key', suite.keyBytes);
    this.#iv = expandLabel(suite, secret, 'iv', NONCE_BYTES);
  }

  /** The TLSInnerPlaintext of the next record (RFC 8446, section 5.2). Throws if these are not its keys. */
  open({ header, body }: TlsRecord): Buffer {
    const { cipher } = this.#suite;
    // All three are used alike, which the types of Node.js cannot say.
    const decipher = createDecipheriv(cipher as CipherGCMTypes, this.#key, this.#nextNonce(), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(header);
    decipher.setAuthTag(body.subarray(-TAG_BYTES));
    return Buffer.concat([decipher.update(body.subarray(0, -TAG_BYTES)), decipher.final()]);
  }

  /** What follows a KeyUpdate is under the next secret (RFC 8446, section 7.2). */
  update(): void {
    const { hash, keyBytes } = this.#suite;
    this.#secret = expandLabel(this.#suite, this.#secret, 'traffic upd', HASH_BYTES[hash]);
    this.#key = expandLabel(this.#suite, this.#secret, 'key', keyBytes);
    this.#iv = expandLabel(this.#suite, this.#secret, 'iv', NONCE_BYTES);
    this.#sequence = 0n;
  }

  /** The record's number, as long as the IV, and both combined bit by bit (RFC 8446, section 5.3). */
  #nextNonce(): Buffer {
    const nonce = Buffer.from(this.#iv);
    const at = NONCE_BYTES - 8;
    nonce.writeBigUInt64BE(nonce.readBigUInt64BE(at) ^ this.#sequence, at);
    this.#sequence += 1n;
    return nonce;
  }
}

/** HKDF-Expand-Label without a context, for what one block of the hash gives (RFC 8446, section 7.1; RFC 5869). */
function expandLabel({ hash }: Suite, secret: Buffer, label: string, bytes: number): Buffer {
  const name = Buffer.from(`tls13 ${label}`);
  const info = Buffer.concat([Buffer.from([0, bytes, name.length]), name, Buffer.from([0])]);
  return createHmac(hash, secret)
    .update(info)
    .update(Buffer.from([1]))
    .digest()
    .subarray(0, bytes);
}
