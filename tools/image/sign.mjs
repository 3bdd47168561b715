import { createHash, createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** A private key of ECDSA P-256, PEM, without a passphrase. Throws what to do for any other. */
export function signingKey(file) {
  const key = createPrivateKey(readFileSync(file));
  const { namedCurve } = key.asymmetricKeyDetails ?? {};
  if (namedCurve === 'prime256v1') return key;
  throw new Error(`${file} is no key of ECDSA P-256: openssl ecparam -name prime256v1 -genkey -noout -out ${file}`);
}

/** As `cosign sign-blob` has it: ECDSA over SHA-256, DER, base64. Verified before it is given away. */
export function signatureOf(bytes, key) {
  const signature = sign('sha256', bytes, key);
  if (!verify('sha256', bytes, createPublicKey(key), signature)) throw new Error('the signature does not verify');
  return signature.toString('base64');
}

/** What `cosign sign` signs of an image: which manifest it is, and under which name it may be served. */
export function imageStatement(name, digest) {
  const critical = {
    identity: { 'docker-reference': name },
    image: { 'docker-manifest-digest': digest },
    type: 'cosign container image signature',
  };
  return Buffer.from(JSON.stringify({ critical, optional: null }));
}

/** In hex. */
export function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}
