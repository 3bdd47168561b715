import { createPublicKey, verify, type KeyObject } from 'node:crypto';
import { FairleadError } from '@fairlead/errors';
import { sha256Hex } from './pem.js';
import { SIGNING_ALGORITHM, importKeyPair, isP256 } from './private-key.js';
import { Pkcs10CertificateRequest, Pkcs10CertificateRequestGenerator } from './x509.js';

/** A request of ours has about 200 bytes; more than this is not worth parsing. */
export const MAX_CSR_BYTES = 8_192;

/** All of a certificate request that counts: the key, proven to be held by the sender. */
export interface CheckedCsr {
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Uint8Array;
  /** SHA-256 of it, hex. */
  readonly spkiSha256: string;
}

/** A PKCS#10 request, DER. Its subject says nothing: who gets the certificate is never the asker's word. */
export async function createCsr(privateKeyPem: string): Promise<Uint8Array> {
  const request = await Pkcs10CertificateRequestGenerator.create({
    name: 'CN=fairlead',
    keys: await importKeyPair(privateKeyPem),
    signingAlgorithm: SIGNING_ALGORITHM,
  });
  return new Uint8Array(request.rawData);
}

/**
 * Checks size, encoding, key type and proof of possession. Names, extensions and attributes of the request are ignored.
 * Throws CSR_INVALID.
 */
export async function checkCsr(der: Uint8Array): Promise<CheckedCsr> {
  if (der.length > MAX_CSR_BYTES) throw refused(`it is larger than ${MAX_CSR_BYTES} bytes`);
  const request = parse(der);
  const publicKey = new Uint8Array(request.publicKey.rawData);
  const key = readKey(publicKey);
  if (!isP256(key) || !isCanonical(key, publicKey)) throw refused('its key is not ECDSA on P-256');
  const hash = HASHES.get(request.signatureAlgorithm.hash?.name);
  if (hash === undefined) throw refused('its signature uses a weak hash');
  if (!verify(hash, request.signedBytes, key, Buffer.from(request.signature))) {
    throw refused('its signature does not match its key');
  }
  return { publicKey, spkiSha256: sha256Hex(publicKey) };
}

const HASHES: ReadonlyMap<string | undefined, string> = new Map([
  ['SHA-256', 'sha256'],
  ['SHA-384', 'sha384'],
  ['SHA-512', 'sha512'],
]);

class StrictRequest extends Pkcs10CertificateRequest {
  /** What the signature is over. It is checked by OpenSSL, which takes only the one DER encoding of a signature. */
  get signedBytes(): Uint8Array {
    return new Uint8Array(this.asn.certificationRequestInfoRaw ?? new ArrayBuffer(0));
  }

  /** The one DER encoding of what was read: the parser stops at the end of the structure and forgives BER. */
  encode(): Uint8Array {
    return new Uint8Array(new Pkcs10CertificateRequest(this.asn).rawData);
  }
}

function parse(der: Uint8Array): StrictRequest {
  try {
    const request = new StrictRequest(new Uint8Array(der));
    // These parse on first use: do it where a failure is told apart from a bug.
    void [request.publicKey, request.signatureAlgorithm];
    if (Buffer.from(request.encode()).equals(der)) return request;
  } catch (cause) {
    throw refused('it is not PKCS#10', cause);
  }
  throw refused('it is not strict DER, or bytes follow it');
}

function readKey(spki: Uint8Array): KeyObject {
  try {
    return createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' });
  } catch (cause) {
    throw refused('its public key is not readable', cause);
  }
}

/** Uncompressed point on a named curve: one key has one encoding, so one pin. */
function isCanonical(key: KeyObject, spki: Uint8Array): boolean {
  const plain = createPublicKey({ key: key.export({ format: 'jwk' }), format: 'jwk' });
  return plain.export({ type: 'spki', format: 'der' }).equals(spki);
}

function refused(why: string, cause?: unknown): FairleadError {
  return new FairleadError('CSR_INVALID', `the certificate request is refused: ${why}`, { cause });
}
