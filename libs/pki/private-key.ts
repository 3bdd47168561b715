import {
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  sign,
  verify,
  webcrypto,
  type KeyObject,
} from 'node:crypto';
import { promisify } from 'node:util';
import { FairleadError } from '@fairlead/errors';
import { sha256Hex, parseCertificate } from './pem.js';

/** The one kind of key: accepted by every TLS stack, small, and quick to make each day. */
const KEY_ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256' } as const;
export const SIGNING_ALGORITHM = { name: 'ECDSA', hash: 'SHA-256' } as const;

/** A fresh ECDSA P-256 key as PKCS#8 PEM. */
export async function generatePrivateKey(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'prime256v1' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** ECDSA-SHA256 (DER) over the bytes: shows that the sender holds the key now. */
export async function signProof(privateKeyPem: string, bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await promisify(sign)('sha256', bytes, readPrivateKey(privateKeyPem)));
}

/** Did the holder of this certificate's key sign these bytes? A malformed proof is just false. */
export async function verifyProof(certificatePem: string, bytes: Uint8Array, proof: Uint8Array): Promise<boolean> {
  const { publicKey } = parseCertificate(certificatePem);
  if (!isP256(publicKey)) return false;
  return promisify(verify)('sha256', bytes, publicKey, proof);
}

/** The pair of a private key for the certificate library. The private half cannot be exported again. */
export async function importKeyPair(privateKeyPem: string): Promise<webcrypto.CryptoKeyPair> {
  return toPair(readPrivateKey(privateKeyPem), KEY_ALGORITHM.namedCurve);
}

/** The same of a CA, whose key may have been made elsewhere: ECDSA on P-256 or P-384, each with its hash. */
export async function importCaKeyPair(
  privateKeyPem: string,
): Promise<{ keys: webcrypto.CryptoKeyPair; signingAlgorithm: { name: string; hash: string } }> {
  const key = parsePrivateKey(privateKeyPem);
  const curve = CA_CURVES.get(key.asymmetricKeyDetails?.namedCurve);
  if (!curve) throw new FairleadError('INVALID_ARGUMENT', "a CA's private key is not ECDSA on P-256 or P-384");
  return { keys: await toPair(key, curve.name), signingAlgorithm: { name: 'ECDSA', hash: curve.hash } };
}

const CA_CURVES: ReadonlyMap<string | undefined, { name: string; hash: string }> = new Map([
  ['prime256v1', { name: 'P-256', hash: 'SHA-256' }],
  ['secp384r1', { name: 'P-384', hash: 'SHA-384' }],
]);

async function toPair(key: KeyObject, namedCurve: string): Promise<webcrypto.CryptoKeyPair> {
  const algorithm = { name: KEY_ALGORITHM.name, namedCurve };
  const pkcs8 = key.export({ type: 'pkcs8', format: 'der' });
  const privateKey = await webcrypto.subtle.importKey('pkcs8', pkcs8, algorithm, false, ['sign']);
  const { d: _private, ...jwk } = key.export({ format: 'jwk' });
  const publicKey = await webcrypto.subtle.importKey('jwk', jwk, algorithm, true, ['verify']);
  return { privateKey, publicKey };
}

/** Is this ECDSA on P-256? */
export function isP256(key: KeyObject): boolean {
  return key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1';
}

/** Does this private key belong to this public one? INVALID_ARGUMENT if it cannot be read. */
export function isPairOf(privateKeyPem: string, publicKey: KeyObject): boolean {
  return createPublicKey(parsePrivateKey(privateKeyPem)).equals(publicKey);
}

/** The pin that a certificate of this key will have. INVALID_ARGUMENT if it cannot be read. */
export function spkiPinOfKey(privateKeyPem: string): string {
  return sha256Hex(createPublicKey(parsePrivateKey(privateKeyPem)).export({ type: 'spki', format: 'der' }));
}

function parsePrivateKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    // The cause is dropped on purpose: nothing of a private key may reach a log.
    throw new FairleadError('INVALID_ARGUMENT', 'the private key is not readable PEM');
  }
}

function readPrivateKey(pem: string): KeyObject {
  const key = parsePrivateKey(pem);
  if (!isP256(key)) throw new FairleadError('INVALID_ARGUMENT', 'the private key is not ECDSA on P-256');
  return key;
}
