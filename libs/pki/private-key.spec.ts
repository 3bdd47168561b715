import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  checkCsr,
  createCsr,
  createRoot,
  generatePrivateKey,
  signProof,
  spkiPin,
  splitPem,
  verifyProof,
} from './index.js';
import { issueServing, type Authority } from './index.js';

const validity = { notBefore: new Date('2026-01-01T00:00:00Z'), notAfter: new Date('2036-01-01T00:00:00Z') };
let root: Authority;
let key: string;
let certificate: string;

beforeAll(async () => {
  root = await createRoot({ commonName: 'root', ...validity });
  key = await generatePrivateKey();
  const csr = await checkCsr(await createCsr(key));
  certificate = (await issueServing(root, { csr, names: ['localhost'], ...validity })).certificatePem;
});

describe('private keys', () => {
  it('are P-256 in PKCS#8', () => {
    expect(key).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
    expect(createPrivateKey(key).asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' });
  });

  it('of another kind are refused without being repeated', async () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
      .privateKey.export({ type: 'pkcs8', format: 'pem' })
      .toString();
    await expect(createCsr(rsa)).rejects.toThrow(/not ECDSA on P-256/);
    const broken = key.replace('PRIVATE KEY-----\n', 'PRIVATE KEY-----\nAA');
    const failure = await createCsr(broken).catch((error: unknown) => error as Error);
    expect(failure).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(failure).not.toHaveProperty('cause');
    expect(String(failure)).not.toContain(key.split('\n')[1]);
  });
});

describe('proofs', () => {
  const bytes = Buffer.from('what is asked for');

  it('hold for the key, the bytes and the certificate they were made for only', async () => {
    const proof = await signProof(key, bytes);
    await expect(verifyProof(certificate, bytes, proof)).resolves.toBe(true);
    await expect(verifyProof(certificate, Buffer.from('something else'), proof)).resolves.toBe(false);
    await expect(verifyProof(root.certificatePem, bytes, proof)).resolves.toBe(false);
    await expect(verifyProof(certificate, bytes, await signProof(await generatePrivateKey(), bytes))).resolves.toBe(
      false,
    );
  });

  it('that are malformed are just wrong', async () => {
    for (const proof of [new Uint8Array(), new Uint8Array(72), Buffer.from('x')]) {
      await expect(verifyProof(certificate, bytes, proof)).resolves.toBe(false);
    }
    await expect(verifyProof('no certificate', bytes, new Uint8Array())).rejects.toMatchObject({
      code: 'CERTIFICATE_REFUSED',
    });
  });
});

describe('PEM', () => {
  it('splits a bundle with comments and Windows line ends', () => {
    const bundle = `# root\r\n${root.certificatePem.replaceAll('\n', '\r\n')}\nsomething\n${certificate}`;
    expect(splitPem(bundle)).toEqual([root.certificatePem, certificate]);
    expect(splitPem('')).toEqual([]);
    expect(splitPem('-----BEGIN CERTIFICATE-----\nAAAA')).toEqual([]);
  });

  it('pins the key, not the certificate', async () => {
    const csr = await checkCsr(await createCsr(key));
    const renewed = await issueServing(root, { csr, names: ['localhost'], ...validity });
    expect(renewed.certificatePem).not.toBe(certificate);
    expect(spkiPin(renewed.certificatePem)).toBe(spkiPin(certificate));
    expect(spkiPin(certificate)).toBe(csr.spkiSha256);
    expect(() => spkiPin('x')).toThrow(expect.objectContaining({ code: 'CERTIFICATE_REFUSED' }));
  });
});
