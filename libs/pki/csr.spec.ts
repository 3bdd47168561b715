import { webcrypto } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { MAX_CSR_BYTES, checkCsr, createCsr, generatePrivateKey, sha256Hex } from './index.js';
import {
  BasicConstraintsExtension,
  ChallengePasswordAttribute,
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
  type Extension,
} from './x509.js';

type KeyParams = webcrypto.EcKeyGenParams | webcrypto.RsaHashedKeyGenParams;

async function requestWith(
  keyParams: KeyParams,
  signingAlgorithm: webcrypto.EcdsaParams | webcrypto.RsaHashedKeyGenParams,
  extensions: Extension[] = [],
): Promise<Uint8Array> {
  const keys = await webcrypto.subtle.generateKey(keyParams, true, ['sign', 'verify']);
  const attributes = [new ChallengePasswordAttribute('x')];
  const request = await Pkcs10CertificateRequestGenerator.create({ keys, signingAlgorithm, extensions, attributes });
  return new Uint8Array(request.rawData);
}

const p256 = { name: 'ECDSA', namedCurve: 'P-256' };
const sha256 = { name: 'ECDSA', hash: 'SHA-256' };
const refused = expect.objectContaining({ code: 'CSR_INVALID' }) as unknown;

/** Made once with OpenSSL: `req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -subj /O=elsewhere/CN=x`. */
const OPENSSL_REQUEST = [
  'MIHbMIGCAgEAMCAxEjAQBgNVBAoMCWVsc2V3aGVyZTEKMAgGA1UEAwwBeDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABDBIPMtS',
  '7c7wT9lBMi1IyF3PMj5gyXE0g7GIC0S412wa8L/ZunJXGUD5ciu6tli4Ps8SGcyYMDkT8eKT5g7QRDagADAKBggqhkjOPQQDAgNI',
  'ADBFAiEA/etSJWr7CAVoLUddo9Lg9Byyk6bvo0mAD8BrnoMXg4YCIF+CVgWKRsBmbY85lls0+sEudI0fNJ/6rivs82UR9JXF',
].join('');

describe('checkCsr', () => {
  it('accepts what createCsr makes, and tells the key', async () => {
    const der = await createCsr(await generatePrivateKey());
    const checked = await checkCsr(der);
    expect(checked.publicKey).toHaveLength(91);
    expect(checked.spkiSha256).toBe(sha256Hex(checked.publicKey));
  });

  it('accepts a request made by OpenSSL', async () => {
    await expect(checkCsr(Buffer.from(OPENSSL_REQUEST, 'base64'))).resolves.toHaveProperty('spkiSha256');
  });

  it('reads a view into a larger buffer', async () => {
    const der = await createCsr(await generatePrivateKey());
    const larger = Buffer.concat([Buffer.alloc(7, 0x30), der, Buffer.alloc(9)]);
    await expect(checkCsr(larger.subarray(7, 7 + der.length))).resolves.toHaveProperty('publicKey');
  });

  it('ignores the CA flag and the names that the sender asks for', async () => {
    const wishes = [
      new BasicConstraintsExtension(true, 5, true),
      new SubjectAlternativeNameExtension([{ type: 'url', value: 'spiffe://td/gateway/a' }]),
    ];
    const checked = await checkCsr(await requestWith(p256, sha256, wishes));
    expect(Object.keys(checked).sort()).toEqual(['publicKey', 'spkiSha256']);
  });

  it('refuses an RSA key', async () => {
    const rsa = {
      name: 'RSASSA-PKCS1-v1_5',
      hash: 'SHA-256',
      modulusLength: 2048,
      publicExponent: new Uint8Array([1, 0, 1]),
    };
    await expect(checkCsr(await requestWith(rsa, rsa))).rejects.toThrow(/not ECDSA on P-256/);
  });

  it('refuses P-384', async () => {
    await expect(checkCsr(await requestWith({ name: 'ECDSA', namedCurve: 'P-384' }, sha256))).rejects.toEqual(refused);
  });

  it('refuses SHA-1', async () => {
    await expect(checkCsr(await requestWith(p256, { name: 'ECDSA', hash: 'SHA-1' }))).rejects.toThrow(/weak hash/);
  });

  it('refuses a signature by another key', async () => {
    const one = Buffer.from(await createCsr(await generatePrivateKey()));
    const other = await checkCsr(await createCsr(await generatePrivateKey()));
    const own = await checkCsr(one);
    const forged = Buffer.from(one);
    forged.set(other.publicKey, one.indexOf(own.publicKey));
    await expect(checkCsr(forged)).rejects.toThrow(/does not match its key/);
  });

  it('refuses every flipped bit', async () => {
    const der = await createCsr(await generatePrivateKey());
    for (let bit = 0; bit < der.length * 8; bit += 1) {
      const index = Math.floor(bit / 8);
      const flipped = Buffer.from(der);
      flipped[index] = (flipped[index] ?? 0) ^ (1 << (bit % 8));
      await expect(checkCsr(flipped), `bit ${bit}`).rejects.toEqual(refused);
    }
  });

  it('refuses trailing bytes, PEM, garbage, nothing, and too much', async () => {
    const der = Buffer.from(await createCsr(await generatePrivateKey()));
    const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;
    const inputs = [
      Buffer.concat([der, Buffer.alloc(1)]),
      Buffer.concat([der, der]),
      der.subarray(0, -1),
      Buffer.from(pem),
      Buffer.from(der.toString('hex')),
      Buffer.from('garbage'),
      Buffer.from([0x30, 0x80, 0, 0]),
      Buffer.alloc(0),
    ];
    for (const input of inputs) await expect(checkCsr(input)).rejects.toEqual(refused);
    await expect(checkCsr(Buffer.alloc(MAX_CSR_BYTES + 1))).rejects.toThrow(/larger than 8192 bytes/);
  });
});
