import { randomBytes } from 'node:crypto';
import { MASTER_KEY_BYTES, sealBytes, unreadable, unsealBytes } from '../domain/sealing.js';

/**
 * Encrypts data keys, of 32 bytes each, with a master key. To keep that key in a KMS, implement this by the KMS's own encrypt and
 * decrypt, with `context` as its additional data (a deadline for each call; UNAVAILABLE while it is away), and hand it to
 * `envelopeSealer`.
 */
export interface KeyEncryption {
  wrap(dataKey: Uint8Array, context: string): Promise<Uint8Array>;
  /** INVALID_ARGUMENT for another master key, another context, or changed bytes. */
  unwrap(wrapped: Uint8Array, context: string): Promise<Uint8Array>;
}

/** Keeps secrets that only this installation's master key opens. */
export interface Sealer {
  /** `context` names what it is; it opens under the same name only. */
  seal(secret: string, context: string): Promise<Buffer>;
  /** INVALID_ARGUMENT for another master key, another context, or changed bytes. */
  unseal(sealed: Uint8Array, context: string): Promise<string>;
}

/** Of what is sealed here; the first byte of what was sealed by a master key directly is 1. */
const VERSION = 2;
/** Version, and the length of the wrapped key. */
const HEADER_BYTES = 3;

/** Each secret has a data key of its own, which stands wrapped before it: version, length, wrapped key, sealed secret. */
export function envelopeSealer(encryption: KeyEncryption): Sealer {
  return {
    async seal(secret, context) {
      const dataKey = randomBytes(MASTER_KEY_BYTES);
      const wrapped = await encryption.wrap(dataKey, context);
      const header = Buffer.alloc(HEADER_BYTES);
      header.writeUInt8(VERSION, 0);
      header.writeUInt16BE(wrapped.length, 1);
      return Buffer.concat([header, wrapped, sealBytes(dataKey, Buffer.from(secret), context)]);
    },
    async unseal(sealed, context) {
      const bytes = Buffer.from(sealed);
      if (bytes.length < HEADER_BYTES || bytes[0] !== VERSION) throw unreadable();
      const secretAt = HEADER_BYTES + bytes.readUInt16BE(1);
      const dataKey = await encryption.unwrap(bytes.subarray(HEADER_BYTES, secretAt), context);
      return unsealBytes(dataKey, bytes.subarray(secretAt), context).toString('utf8');
    },
  };
}

/** By a master key in memory. It opens what was sealed before there were data keys, too. */
export function localSealer(masterKey: Buffer): Sealer {
  const envelope = envelopeSealer({
    wrap: async (dataKey, context) => sealBytes(masterKey, dataKey, context),
    unwrap: async (wrapped, context) => unsealBytes(masterKey, wrapped, context),
  });
  return {
    seal: (secret, context) => envelope.seal(secret, context),
    unseal: async (sealed, context) =>
      sealed[0] === VERSION
        ? envelope.unseal(sealed, context)
        : unsealBytes(masterKey, sealed, context).toString('utf8'),
  };
}
