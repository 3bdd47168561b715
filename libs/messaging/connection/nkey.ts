import { createPrivateKey, createPublicKey, randomBytes, sign, type KeyObject } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { isPrivate } from '@fairlead/config';
import { FairleadError, messageOf } from '@fairlead/errors';
import { Prefix } from '@nats-io/nkeys';
import { Codec } from '@nats-io/nkeys/lib/codec.js';
import type { Authenticator } from '@nats-io/transport-node';

const SEED_BYTES = 32;
/** What an Ed25519 private key begins with, before its 32 bytes. RFC 8410, section 7. */
const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex');

export interface Nkey {
  /** The secret half; it belongs in a 0600 file. */
  readonly seed: string;
  /** The public half, for the server's configuration. */
  readonly publicKey: string;
}

/** A new user key pair for a NATS credential. */
export function createNkey(): Nkey {
  return nkeyFromSeed(toText(Codec.encodeSeed(Prefix.User, randomBytes(SEED_BYTES))));
}

/** The key pair of an existing seed. Throws INVALID_ARGUMENT, without repeating the seed. */
export function nkeyFromSeed(seed: string): Nkey {
  try {
    const { key, prefix } = privateKeyOf(seed);
    return { seed, publicKey: publicKeyOf(key, prefix) };
  } catch {
    throw new FairleadError('INVALID_ARGUMENT', 'the NATS seed is not a valid nkey seed');
  }
}

/** Reads a seed. Throws INVALID_ARGUMENT if others than the owner can read the file (`isPrivate`), or it holds no seed. */
export function readSeedFile(path: string): string {
  let text: string;
  try {
    if (!isPrivate(statSync(path))) {
      throw new FairleadError('INVALID_ARGUMENT', `${path}: others can read this secret; run chmod 600 on it`);
    }
    text = readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (error instanceof FairleadError) throw error;
    throw new FairleadError('INVALID_ARGUMENT', `cannot read the NATS seed file: ${messageOf(error)}`);
  }
  return nkeyFromSeed(text).seed;
}

/** Answers a server's nonce, as the client library does; Node's own Ed25519 takes 0.1 ms where the library's, in JavaScript, takes a process that starts 20. */
export function nkeyAuthenticator(seed: string): Authenticator {
  const { key, prefix } = privateKeyOf(seed);
  const nkey = publicKeyOf(key, prefix);
  return (nonce) => ({ nkey, sig: nonce ? sign(null, Buffer.from(nonce), key).toString('base64') : '' });
}

function privateKeyOf(seed: string): { readonly key: KeyObject; readonly prefix: Prefix } {
  const { buf, prefix } = Codec.decodeSeed(new TextEncoder().encode(seed));
  if (buf.length !== SEED_BYTES) throw new Error(`${buf.length} bytes`);
  return { key: createPrivateKey({ key: Buffer.concat([PKCS8_ED25519, buf]), format: 'der', type: 'pkcs8' }), prefix };
}

function publicKeyOf(key: KeyObject, prefix: Prefix): string {
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' });
  return toText(Codec.encode(prefix, Buffer.from(x, 'base64url')));
}

const toText = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
