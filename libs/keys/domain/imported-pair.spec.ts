import { generateKeyPairSync } from 'node:crypto';
import { createIssuing, createRoot, crossSign, type Authority } from '@fairlead/pki';
import { beforeAll, expect, it } from 'vitest';
import { checkCross, importedPair, type CaMaterial } from './imported-pair.js';

const now = new Date();
const years = { notBefore: new Date(now.getTime() - 3_600_000), notAfter: new Date(now.getTime() + 9e10) };
const past = { notBefore: new Date(now.getTime() - 7_200_000), notAfter: new Date(now.getTime() - 3_600_000) };

let root: Authority;
let other: Authority;
let issuing: Authority;
let material: CaMaterial;

beforeAll(async () => {
  root = await createRoot({ commonName: 'corporate root', ...years });
  other = await createRoot({ commonName: 'another root', ...years });
  issuing = await createIssuing(root, { commonName: 'issuing', ...years });
  material = {
    rootPem: root.certificatePem,
    issuingPem: issuing.certificatePem,
    issuingKeyPem: issuing.privateKeyPem,
    rootKeyPem: null,
    crossPem: null,
  };
});

const refusal = (change: Partial<CaMaterial>): Promise<unknown> =>
  importedPair({ ...material, ...change }, 'next', now).then(
    () => 'accepted',
    (error: { code: string; message: string }) => `${error.code} ${error.message}`,
  );

it('holds a root with or without its key, and an issuing CA below it', async () => {
  const offline = await importedPair(material, 'next', now);
  expect(offline.root).toMatchObject({ kind: 'identity-root', state: 'next', privateKeyPem: null });
  expect(offline.issuing).toMatchObject({ kind: 'identity-issuing', rootId: offline.root.id });
  const online = await importedPair({ ...material, rootKeyPem: root.privateKeyPem }, 'active', now);
  expect(online.root.privateKeyPem).toBe(root.privateKeyPem);
});

it('says what is wrong with the certificates', async () => {
  const ended = await createRoot({ commonName: 'ended', ...past });
  const short = { notBefore: years.notBefore, notAfter: new Date(now.getTime() + 60_000) };
  const brief = await createRoot({ commonName: 'brief', ...short });
  const longer = await createIssuing({ ...brief }, { commonName: 'longer', ...years });
  const endedIssuing = await createIssuing(root, { commonName: 'ended', ...past });
  const later = { notBefore: new Date(now.getTime() + 3_600_000), notAfter: years.notAfter };
  const early = await createIssuing(root, { commonName: 'early', ...later });
  const deeper = await createIssuing(issuing, { commonName: 'deeper', ...years });
  const cases: [Partial<CaMaterial>, RegExp][] = [
    [{ rootPem: 'nonsense' }, /^INVALID_ARGUMENT --root: this is not an X.509 certificate/],
    [{ rootPem: issuing.certificatePem }, /--root: it is not self-signed/],
    [{ rootPem: other.certificatePem }, /--issuing: it was not issued by this root/],
    [{ rootPem: ended.certificatePem }, /--root: it ended on/],
    [{ issuingPem: endedIssuing.certificatePem, issuingKeyPem: endedIssuing.privateKeyPem }, /--issuing: it ended on/],
    [{ issuingPem: early.certificatePem, issuingKeyPem: early.privateKeyPem }, /--issuing: it is not valid before/],
    [{ issuingPem: root.certificatePem, issuingKeyPem: root.privateKeyPem }, /--issuing: it has the key of the root/],
    [
      { issuingPem: deeper.certificatePem, issuingKeyPem: deeper.privateKeyPem },
      /--issuing: it was not issued by this/,
    ],
    [
      { rootPem: brief.certificatePem, issuingPem: longer.certificatePem, issuingKeyPem: longer.privateKeyPem },
      /--issuing: it ends after its root/,
    ],
  ];
  for (const [change, message] of cases) expect(await refusal(change)).toMatch(message);
});

it('says what is wrong with the keys, and repeats nothing of them', async () => {
  const p521 = generateKeyPairSync('ec', { namedCurve: 'secp521r1' }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  });
  expect(await refusal({ issuingKeyPem: root.privateKeyPem })).toMatch(/--key: it is not the key of its certificate/);
  expect(await refusal({ issuingKeyPem: String(p521) })).toMatch(/--key: it is not the key of its certificate/);
  expect(await refusal({ rootKeyPem: issuing.privateKeyPem })).toMatch(/--root-key: it is not the key of its/);
  const broken = await refusal({ issuingKeyPem: issuing.privateKeyPem.replaceAll('M', 'N') });
  expect(broken).toMatch(/the private key is not readable PEM$/);
});

it('takes only a cross certificate that leads from the active root to the next one', async () => {
  const active = other;
  const good = await crossSign(active, root.certificatePem, years);
  await expect(checkCross({ ...material, crossPem: good }, active.certificatePem, now)).resolves.toBe(good);
  const foreign = await crossSign(await createRoot({ commonName: 'x', ...years }), root.certificatePem, years);
  const below = await createIssuing(active, { commonName: 'x', ...years });
  for (const [crossPem, message] of [
    [null, /active root is offline.*--cross/],
    [foreign, /--cross: it was not issued by the active root/],
    [below.certificatePem, /--cross: it does not have the key of the new root/],
  ] as const) {
    await expect(checkCross({ ...material, crossPem }, active.certificatePem, now)).rejects.toThrow(message);
  }
});
