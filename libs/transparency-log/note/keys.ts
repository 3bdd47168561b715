import { createPublicKey, hash, sign, verify, type KeyObject } from 'node:crypto';
import { FairleadError } from '@fairlead/errors';

/** How a key signs: a note as it stands, or a checkpoint together with the time (C2SP signed-note, signature types). */
export const SIGNATURE_TYPES = { ed25519: 0x01, cosignature: 0x04 } as const;
export type SignatureType = keyof typeof SIGNATURE_TYPES;

export interface NoteSigner {
  readonly name: string;
  readonly keyId: number;
  /** The signature's bytes, without the key id, of the text as it stands. */
  readonly sign: (text: string) => Uint8Array | Promise<Uint8Array>;
}

export interface NoteVerifier {
  readonly name: string;
  readonly keyId: number;
  readonly type: SignatureType;
  /** 32 bytes (RFC 8032). */
  readonly publicKey: Uint8Array;
  readonly verify: (text: string, signature: Uint8Array) => boolean;
}

const PUBLIC_KEY_BYTES = 32;
const TIMESTAMP_BYTES = 8;
const SIGNATURE_BYTES = 64;
const NAME = /^[^\p{White_Space}\p{Cc}+]+$/u;

/** A key that signs notes: what a log signs its checkpoints with. Throws INVALID_ARGUMENT for a name with spaces or a plus. */
export function noteSigner(name: string, privateKey: KeyObject): NoteSigner {
  const keyId = keyIdOf(name, 'ed25519', rawPublicKey(privateKey));
  return { name, keyId, sign: (text) => sign(null, Buffer.from(text), privateKey) };
}

/** A key of a witness: it signs a checkpoint as seen at `now()`, in whole seconds (C2SP tlog-cosignature, Ed25519). */
export function cosigner(name: string, privateKey: KeyObject, now: () => Date): NoteSigner {
  const keyId = keyIdOf(name, 'cosignature', rawPublicKey(privateKey));
  return {
    name,
    keyId,
    sign: (text) => {
      const timestamp = Buffer.alloc(TIMESTAMP_BYTES);
      timestamp.writeBigUInt64BE(BigInt(Math.floor(now().getTime() / 1000)));
      return Buffer.concat([timestamp, sign(null, cosignedMessage(timestamp, text), privateKey)]);
    },
  };
}

/** What others verify by, of a private or a public key: `name+keyid+base64`. */
export function verifierKey(name: string, type: SignatureType, key: KeyObject): string {
  const publicKey = rawPublicKey(key);
  const id = keyIdOf(name, type, publicKey).toString(16).padStart(8, '0');
  return `${name}+${id}+${Buffer.from([SIGNATURE_TYPES[type], ...publicKey]).toString('base64')}`;
}

/** Reads a verifier key. Throws INVALID_ARGUMENT where it is malformed, of another type, or its id is not that of its name and key. */
export function parseVerifierKey(text: string): NoteVerifier {
  const [, name = '', id = '', encoded = ''] =
    /^([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})$/.exec(text.trim()) ?? [];
  const [typeByte, ...rest] = Buffer.from(encoded, 'base64');
  const publicKey = Uint8Array.from(rest);
  const type = (Object.keys(SIGNATURE_TYPES) as SignatureType[]).find((each) => SIGNATURE_TYPES[each] === typeByte);
  if (type === undefined || publicKey.length !== PUBLIC_KEY_BYTES)
    throw invalid('it is not name+id+key with an Ed25519 key of a log or a witness');
  const verifier = verifierOf(name, type, publicKey);
  if (verifier.keyId !== Number.parseInt(id, 16)) throw invalid(`its id ${id} is not that of its name and key`);
  return verifier;
}

/** The same key under another name: as that of a log which began anew. */
export function renamedVerifier({ type, publicKey }: NoteVerifier, name: string): NoteVerifier {
  return verifierOf(name, type, publicKey);
}

function verifierOf(name: string, type: SignatureType, publicKey: Uint8Array): NoteVerifier {
  const keyId = keyIdOf(name, type, publicKey);
  const key = publicKeyObject(publicKey);
  const verifyOf = { ed25519: verifyNote, cosignature: verifyCosignature }[type];
  return { name, keyId, type, publicKey, verify: (text, signature) => verifyOf(key, text, signature) };
}

/** When a witness says that it saw the checkpoint; the cosignature is of the right length, and verified elsewhere. */
export function cosignedAt(signature: Uint8Array): Date {
  return new Date(Number(Buffer.from(signature).readBigUInt64BE()) * 1000);
}

function verifyNote(key: KeyObject, text: string, signature: Uint8Array): boolean {
  return signature.length === SIGNATURE_BYTES && verify(null, Buffer.from(text), key, signature);
}

function verifyCosignature(key: KeyObject, text: string, signature: Uint8Array): boolean {
  if (signature.length !== TIMESTAMP_BYTES + SIGNATURE_BYTES) return false;
  const timestamp = Buffer.from(signature.subarray(0, TIMESTAMP_BYTES));
  return verify(null, cosignedMessage(timestamp, text), key, signature.subarray(TIMESTAMP_BYTES));
}

function cosignedMessage(timestamp: Buffer, text: string): Buffer {
  return Buffer.from(`cosignature/v1\ntime ${timestamp.readBigUInt64BE()}\n${text}`);
}

function keyIdOf(name: string, type: SignatureType, publicKey: Uint8Array): number {
  if (!NAME.test(name)) throw invalid('a name is not empty, and has neither spaces nor a plus');
  const bytes = Buffer.concat([Buffer.from(`${name}\n`), Uint8Array.of(SIGNATURE_TYPES[type]), publicKey]);
  return hash('sha256', bytes, 'buffer').readUInt32BE();
}

function rawPublicKey(key: KeyObject): Uint8Array {
  if (key.asymmetricKeyType !== 'ed25519')
    throw invalid(`it is ${key.asymmetricKeyType ?? 'a secret'}, and not Ed25519`);
  const { x = '' } = (key.type === 'private' ? createPublicKey(key) : key).export({ format: 'jwk' });
  return Buffer.from(x, 'base64url');
}

function publicKeyObject(publicKey: Uint8Array): KeyObject {
  const x = Buffer.from(publicKey).toString('base64url');
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
}

function invalid(why: string): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', `this is no key of a signed note: ${why}`);
}
