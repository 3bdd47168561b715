import { beforeAll, expect, it } from 'vitest';
import {
  checkCsr,
  createCsr,
  createIssuing,
  createRoot,
  crossSign,
  generatePrivateKey,
  highestVersion,
  issueIdentity,
  openTrust,
  readTrust,
  signTrust,
  type Authority,
  type SignedTrust,
  type SpiffeId,
  type TrustSigner,
  highestToSign,
} from './index.js';

const trustDomain = 'fairlead.test';
const now = new Date();
const validity = { notBefore: new Date(now.getTime() - 1_000), notAfter: new Date(now.getTime() + 3_600_000) };
const keys: SpiffeId = { kind: 'service', name: 'keys', trustDomain };

let root: Authority;
let other: Authority;
let signer: TrustSigner;

beforeAll(async () => {
  root = await createRoot({ commonName: 'one', ...validity });
  other = await createRoot({ commonName: 'two', ...validity });
  signer = await signerOf(root, keys);
});

it('is opened by whoever trusts the root of its signer, and gives the roots in their order', async () => {
  const signed = await sign({ version: 7 });
  const roots = await openTrust(signed, held(root));
  expect(roots).toMatchObject({ version: 7, trustDomain });
  expect(roots.rootsPem.map((pem) => pem.trim())).toEqual([other, root].map((each) => each.certificatePem.trim()));
});

it('is opened through a certificate for the new root by the old one', async () => {
  const fresh = await createRoot({ commonName: 'three', ...validity });
  const cross = await crossSign(root, fresh.certificatePem, validity);
  const chained = await signerOf(fresh, keys);
  const signed = await signTrust(
    { version: 8, trustDomain, rootsPem: [fresh.certificatePem, root.certificatePem] },
    { ...chained, chainPem: [...chained.chainPem, cross] },
  );
  await expect(openTrust(signed, held(root))).resolves.toMatchObject({ version: 8 });
  await expect(openTrust(signed, held(fresh))).resolves.toMatchObject({ version: 8 });
});

it('names certificates of gateways that were revoked, and a bundle that names none is as it always was', async () => {
  const revokedGateways = ['0a0b', 'ff'.repeat(20)];
  const roots = await openTrust(await sign({ revokedGateways }), held(root));
  expect(roots.revokedGateways).toEqual(revokedGateways);
  const none = await sign();
  expect(Buffer.from(none.bundle).toString()).not.toContain('revoked');
  expect(readTrust(none.bundle).revokedGateways).toEqual([]);
  for (const bad of [['0A'], ['x'], [''], Array.from({ length: 257 }, () => '0a')]) {
    await expect(sign({ revokedGateways: bad })).rejects.toThrow(/revoked certificate/);
  }
});

it('names gateways whose certificates were all revoked, in words that a reader who does not know them leaves out', async () => {
  const revoked = { revokedGateways: ['0a'], fencedGateways: [{ name: 'gateway-a', through: 1_795_000_000 }] };
  const { bundle } = await signTrust({ ...contents(), ...revoked }, signer);
  expect(readTrust(bundle)).toMatchObject(revoked);
  const later = { ...(JSON.parse(Buffer.from(bundle).toString()) as object), comesLater: [1] };
  expect(readTrust(Buffer.from(JSON.stringify(later)))).toEqual(readTrust(bundle));
});

it('is refused when its version is above what anybody takes at that time, or above what the holder does', async () => {
  const highest = highestVersion(now);
  const [taken, refused] = [await sign({ version: highest }), await sign({ version: highest + 1 })];
  await expect(openTrust(taken, held(root))).resolves.toMatchObject({ version: highest });
  await expect(openTrust(refused, held(root))).rejects.toThrow(/too far ahead/);
  await expect(openTrust(refused, { ...held(root), highest: highest + 1 })).rejects.toThrow(/too far ahead/);
  const own = { ...held(root), highest: 40 };
  await expect(openTrust(await sign({ version: 40 }), own)).resolves.toMatchObject({ version: 40 });
  await expect(openTrust(await sign({ version: 41 }), own)).rejects.toThrow('at most 40 is taken');
  await expect(sign({ version: 1_000_001 })).rejects.toThrow(/no number from 1 to 1000000/);
});

it('is refused by whoever does not trust its signer', async () => {
  await expect(openTrust(await sign(), held(other))).rejects.toThrow(/does not lead to a trusted root/);
});

it.each<[string, SpiffeId]>([
  ['a gateway', { kind: 'gateway', name: 'keys', trustDomain }],
  ['another service', { kind: 'service', name: 'api', trustDomain }],
])('is refused when %s signed it', async (_who, id) => {
  const signed = await signTrust(contents(), await signerOf(root, id));
  await expect(openTrust(signed, held(root))).rejects.toMatchObject({
    code: 'CERTIFICATE_REFUSED',
    message: expect.stringContaining('not the keys service'),
  });
});

it('is refused when any byte of it changed', async () => {
  const signed = await sign();
  for (const at of [0, 12, signed.bundle.length - 1]) {
    const bundle = new Uint8Array(signed.bundle);
    bundle[at] = (bundle[at] ?? 0) ^ 1;
    await expect(openTrust({ ...signed, bundle }, held(root))).rejects.toThrow(/signature does not match/);
  }
  const signature = new Uint8Array(4);
  await expect(openTrust({ ...signed, signature }, held(root))).rejects.toThrow(/signature does not match/);
});

it('is refused for another trust domain, and after its signer has ended', async () => {
  const signed = await sign();
  await expect(openTrust(signed, { ...held(root), trustDomain: 'else.test' })).rejects.toThrow(/trust domain/);
  await expect(openTrust(signed, { ...held(root), at: new Date(now.getTime() + 7_200_000) })).rejects.toThrow(
    /expired/,
  );
});

it.each([
  ['no root', { rootsPem: [] }],
  ['version 0', { version: 0 }],
  ['two certificates as one root', () => ({ rootsPem: [root.certificatePem + other.certificatePem] })],
  ['a root that is no CA', () => ({ rootsPem: [signer.chainPem[0] ?? ''] })],
])('is not even signed with %s', async (_what, change) => {
  const wrong = typeof change === 'function' ? change() : change;
  await expect(signTrust({ ...contents(), ...wrong }, signer)).rejects.toMatchObject({ code: 'CERTIFICATE_REFUSED' });
});

function contents() {
  return { version: 2, trustDomain, rootsPem: [other.certificatePem, root.certificatePem] };
}

function sign(change: { version?: number; revokedGateways?: readonly string[] } = {}): Promise<SignedTrust> {
  return signTrust({ ...contents(), ...change }, signer);
}

function held({ certificatePem }: Authority) {
  return { rootsPem: [certificatePem], trustDomain, at: now };
}

async function signerOf(authority: Authority, id: SpiffeId): Promise<TrustSigner> {
  const issuing = await createIssuing(authority, { commonName: 'issuing', ...validity });
  const keyPem = await generatePrivateKey();
  const csr = await checkCsr(await createCsr(keyPem));
  const leaf = await issueIdentity(issuing, { csr, id, ...validity });
  return { keyPem, chainPem: [leaf.certificatePem, issuing.certificatePem] };
}

const on = (date: string): Date => new Date(`${date}T00:00:00Z`);

it('is 1,000, and ten for each day since 2026, the same for everybody', () => {
  expect(['2026-01-01', '2026-01-02', '2027-01-01', '2046-01-01'].map((date) => highestVersion(on(date)))).toEqual([
    1_000, 1_010, 4_650, 74_050,
  ]);
});

it('is never less by a clock that is wrong, and never near what keys can count to', () => {
  expect(highestVersion(new Date(0))).toBe(1_000);
  expect(highestVersion(on('2400-01-01'))).toBe(1_000_000);
});

it('leaves keys a version above whatever anybody was given, some hours later', () => {
  for (const date of ['2026-11-22', '2031-05-01', '2060-01-01']) {
    const taken = highestVersion(on(date));
    const later = new Date(on(date).getTime() + 4 * 3_600_000);
    expect(highestToSign(later)).toBeGreaterThan(taken);
    // And who has a clock that is an hour behind takes it, too.
    expect(highestToSign(later)).toBeLessThanOrEqual(highestVersion(new Date(later.getTime() - 3_600_000)));
  }
});
