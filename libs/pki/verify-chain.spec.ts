import { webcrypto } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { signCertificate, type Certificate } from './authority.js';
import {
  checkCsr,
  createCsr,
  createIssuing,
  createRoot,
  generatePrivateKey,
  issueIdentity,
  issueServing,
  readPeerCertificate,
  verifyChain,
  verifyPath,
  type Authority,
  type CheckedCsr,
  type SpiffeId,
  type VerifyOptions,
} from './index.js';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
  type JsonGeneralNames,
} from './x509.js';

const validity = { notBefore: new Date('2026-01-01T00:00:00Z'), notAfter: new Date('2055-01-01T00:00:00Z') };
const at = new Date('2027-01-01T00:00:00Z');
const asServer: VerifyOptions = { at, usage: 'serverAuth' };
const asClient: VerifyOptions = { at, usage: 'clientAuth' };
const gatewayId: SpiffeId = { kind: 'gateway', trustDomain: 'fairlead.local', name: 'gateway-a' };
const agentId: SpiffeId = {
  kind: 'agent',
  trustDomain: 'fairlead.local',
  clusterId: '7b0c6f4e-2f5a-4c7e-9a57-8f1f4b1c2d3e',
};
const uriOf = (name: string): JsonGeneralNames[number] => ({
  type: 'url',
  value: `spiffe://fairlead.local/gateway/${name}`,
});

let root: Authority;
let issuing: Authority;
let csr: CheckedCsr;
let leafKey: string;

beforeAll(async () => {
  root = await createRoot({ commonName: 'root', ...validity });
  issuing = await createIssuing(root, { commonName: 'issuing', ...validity });
  leafKey = await generatePrivateKey();
  csr = await checkCsr(await createCsr(leafKey));
});

const verify = (leaf: string, options: VerifyOptions, ...others: string[]): Promise<unknown> =>
  verifyChain([leaf, ...(others.length > 0 ? others : [issuing.certificatePem])], [root.certificatePem], options);

/** A leaf as nobody but an attacker or a careless operator would sign it. */
function oddLeaf(change: Partial<Certificate> & { names?: JsonGeneralNames } = {}, issuer = issuing): Promise<string> {
  return signCertificate(issuer, {
    publicKey: new Uint8Array(csr.publicKey),
    serial: '01',
    subject: [{ CN: ['x'] }],
    ...validity,
    extensions: [
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
      new SubjectAlternativeNameExtension(change.names ?? [uriOf('a')]),
    ],
    ...change,
  });
}

describe('a chain of ours', () => {
  it('verifies with and without the root in it, and in any order of the CAs', async () => {
    const leaf = await issueIdentity(issuing, { csr, id: gatewayId, generation: 3, ...validity });
    const chains = [
      [issuing.certificatePem],
      [issuing.certificatePem, root.certificatePem],
      [root.certificatePem, issuing.certificatePem],
    ];
    for (const others of chains) {
      const peer = await verify(leaf.certificatePem, asServer, ...others);
      expect(peer).toEqual({
        id: gatewayId,
        generation: 3,
        trustVersion: 0,
        serial: leaf.serial,
        spkiSha256: csr.spkiSha256,
        ...validity,
      });
    }
  });

  it('verifies below either root while roots rotate', async () => {
    const next = await createRoot({ commonName: 'root', ...validity });
    const leaf = await issueIdentity(issuing, { csr, id: gatewayId, ...validity });
    const chain = [leaf.certificatePem, issuing.certificatePem];
    await expect(verifyChain(chain, [next.certificatePem, root.certificatePem], asServer)).resolves.toBeDefined();
    await expect(verifyChain(chain, [next.certificatePem], asServer)).rejects.toThrow(/trusted root/);
  });

  it('says how long a path counts: as long as all of it, and nothing that is not on it', async () => {
    const [from, until] = [new Date('2026-06-01T00:00:00Z'), new Date('2028-01-01T00:00:00Z')];
    const short = await createIssuing(root, { commonName: 'issuing', ...validity, notAfter: until });
    const leaf = await issueIdentity(short, { csr, id: gatewayId, notBefore: from, notAfter: validity.notAfter });
    const aside = await createIssuing(root, { commonName: 'aside', ...validity, notAfter: at });
    const chain = [leaf, short, aside].map(({ certificatePem }) => certificatePem);
    const path = await verifyPath(chain, [root.certificatePem], asServer);
    expect(path).toMatchObject({ peer: { id: gatewayId }, notBefore: from, notAfter: until });
    const ofRoot = await createRoot({ commonName: 'short', ...validity, notAfter: until });
    const below = await createIssuing(ofRoot, { commonName: 'issuing', ...validity });
    const other = await issueIdentity(below, { csr, id: gatewayId, ...validity });
    const pems = [other.certificatePem, below.certificatePem];
    await expect(verifyPath(pems, [ofRoot.certificatePem], asServer)).resolves.toMatchObject({ notAfter: until });
  });

  it('lets an agent be a client only, gateways and services both', async () => {
    const agent = await issueIdentity(issuing, { csr, id: agentId, ...validity });
    await expect(verify(agent.certificatePem, asClient)).resolves.toMatchObject({ id: agentId, generation: 0 });
    await expect(verify(agent.certificatePem, asServer)).rejects.toThrow(/not meant for serverAuth/);
    const service = { kind: 'service', trustDomain: 'fairlead.local', name: 'keys' } as const;
    const { certificatePem } = await issueIdentity(issuing, { csr, id: service, ...validity });
    await expect(verify(certificatePem, asClient)).resolves.toMatchObject({ id: service });
    await expect(verify(certificatePem, asServer)).resolves.toMatchObject({ id: service });
  });

  it('keeps the serial it is given and refuses one that is none', async () => {
    const issue = (serial: string): Promise<{ certificatePem: string; serial: string }> =>
      issueIdentity(issuing, { csr, id: gatewayId, serial, ...validity });
    const { certificatePem, serial } = await issue('00AB');
    expect(await verify(certificatePem, asServer)).toMatchObject({ serial: 'ab' });
    expect(serial).toBe('ab');
    for (const bad of ['', '0', '00', 'xy', '-1', 'ff'.repeat(21)]) {
      await expect(issue(bad)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    }
  });
});

describe('a serving certificate', () => {
  it('names hosts and addresses, and is nobody among peers', async () => {
    const names = ['api.example', '*.apps.example', '127.0.0.1', '::1'];
    const { certificatePem } = await issueServing(issuing, { csr, names, ...validity });
    await expect(verify(certificatePem, asServer)).rejects.toThrow(/exactly one URI name/);
  });

  it('is not issued for what is no name', async () => {
    for (const names of [[], [''], ['a b'], ['a..b'], ['spiffe://x'], ['-a'], ['*'], ['a'.repeat(254)]]) {
      await expect(issueServing(issuing, { csr, names, ...validity })).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
    }
  });
});

describe('verifyChain refuses', () => {
  it('an expired and a not yet valid certificate, of the leaf or of a CA', async () => {
    const day = { notBefore: new Date('2026-06-01T00:00:00Z'), notAfter: new Date('2026-06-02T00:00:00Z') };
    const leaf = await issueIdentity(issuing, { csr, id: gatewayId, ...day });
    const usage = 'serverAuth';
    await expect(verify(leaf.certificatePem, { usage, at: day.notAfter })).resolves.toBeDefined();
    await expect(verify(leaf.certificatePem, { usage, at: new Date('2026-06-03') })).rejects.toThrow(
      /expired at 2026-06-02/,
    );
    await expect(verify(leaf.certificatePem, { usage, at: new Date('2026-05-31') })).rejects.toThrow(
      /not valid before/,
    );
    const old = await createIssuing(root, { commonName: 'old', ...day });
    const below = await issueIdentity(old, { csr, id: gatewayId, ...validity });
    await expect(verify(below.certificatePem, asServer, old.certificatePem)).rejects.toThrow(/expired/);
  });

  it('a certificate that ends before it begins, already when it is issued', async () => {
    const swapped = { notBefore: validity.notAfter, notAfter: validity.notBefore };
    await expect(issueIdentity(issuing, { csr, id: gatewayId, ...swapped })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });

  it('a leaf used as a CA', async () => {
    const leaf = await issueIdentity(issuing, { csr, id: gatewayId, ...validity });
    const asAuthority = { certificatePem: leaf.certificatePem, privateKeyPem: leafKey };
    const forged = await issueIdentity(asAuthority, { csr, id: { ...gatewayId, name: 'victim' }, ...validity });
    const chain = verify(forged.certificatePem, asServer, leaf.certificatePem, issuing.certificatePem);
    await expect(chain).rejects.toMatchObject({ code: 'CERTIFICATE_REFUSED' });
  });

  it('a chain longer than the path length allows', async () => {
    const deeper = await createIssuing(issuing, { commonName: 'deeper', ...validity });
    const leaf = await issueIdentity(deeper, { csr, id: gatewayId, ...validity });
    const chain = verify(leaf.certificatePem, asServer, deeper.certificatePem, issuing.certificatePem);
    await expect(chain).rejects.toThrow(/longer than its issuer allows/);
  });

  it('a self-signed leaf, a foreign root sent along, an empty chain, and one too long', async () => {
    const foreign = await createRoot({ commonName: 'root', ...validity });
    const leaf = await issueIdentity(foreign, { csr, id: gatewayId, ...validity });
    await expect(verify(leaf.certificatePem, asServer, foreign.certificatePem)).rejects.toThrow(/trusted root/);
    const keys = await webcrypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify']);
    const extensions = [
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension([uriOf('a')]),
    ];
    const own = await X509CertificateGenerator.createSelfSigned({ name: 'CN=root', keys, extensions, ...validity });
    await expect(verify(own.toString('pem'), asServer, root.certificatePem)).rejects.toThrow(/trusted root/);
    await expect(verifyChain([], [root.certificatePem], asServer)).rejects.toThrow(/empty/);
    await expect(
      verifyChain(
        Array.from({ length: 5 }, () => leaf.certificatePem),
        [],
        asServer,
      ),
    ).rejects.toThrow(/longer than 4/);
  });

  it('a root or an issuing CA in the place of a peer', async () => {
    await expect(verifyChain([root.certificatePem], [root.certificatePem], asServer)).rejects.toThrow(/CA is no peer/);
    await expect(verifyChain([issuing.certificatePem], [root.certificatePem], asServer)).rejects.toThrow(
      /CA is no peer/,
    );
  });

  it('no URI name, two of them, a foreign one, and one that is not SPIFFE', async () => {
    const names: JsonGeneralNames[] = [
      [{ type: 'dns', value: 'gateway.example' }],
      [uriOf('a'), uriOf('b')],
      [uriOf('a'), uriOf('a')],
      [{ type: 'url', value: 'https://fairlead.local/gateway/a' }],
      [{ type: 'url', value: 'spiffe://fairlead.local/user/alice' }],
    ];
    for (const list of names) {
      await expect(verify(await oddLeaf({ names: list }), asServer)).rejects.toMatchObject({
        code: 'CERTIFICATE_REFUSED',
      });
    }
    const also = await oddLeaf({ names: [uriOf('a'), { type: 'dns', value: 'gateway.example' }] });
    await expect(verify(also, asServer)).resolves.toMatchObject({ id: { name: 'a' } });
  });

  it('another trust domain than the one asked for', async () => {
    const leaf = await issueIdentity(issuing, { csr, id: { ...gatewayId, trustDomain: 'elsewhere' }, ...validity });
    await expect(verify(leaf.certificatePem, { ...asServer, trustDomain: 'elsewhere' })).resolves.toBeDefined();
    await expect(verify(leaf.certificatePem, { ...asServer, trustDomain: 'fairlead.local' })).rejects.toThrow(
      /trust domain/,
    );
  });

  it('a leaf without a purpose, without signatures, or with an unknown critical extension', async () => {
    const san = new SubjectAlternativeNameExtension([uriOf('a')]);
    const usage = new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true);
    const purpose = new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]);
    const odd = new Extension('1.3.6.1.4.1.55555.1', true, new Uint8Array([5, 0]));
    await expect(verify(await oddLeaf({ extensions: [san, usage] }), asServer)).rejects.toThrow(/no purpose/);
    await expect(verify(await oddLeaf({ extensions: [san, purpose] }), asServer)).rejects.toThrow(/key usage/);
    await expect(verify(await oddLeaf({ extensions: [san, usage, purpose, odd] }), asServer)).rejects.toThrow(
      /unknown critical/,
    );
    const doubled = oddLeaf({ extensions: [san, san, usage, purpose] });
    await expect(verify(await doubled, asServer)).rejects.toMatchObject({ code: 'CERTIFICATE_REFUSED' });
  });

  it('a CA without the right to sign certificates', async () => {
    const key = await generatePrivateKey();
    const { publicKey } = await checkCsr(await createCsr(key));
    for (const extensions of [
      [new BasicConstraintsExtension(true, 0, true), new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true)],
      [new BasicConstraintsExtension(false, undefined, true), new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true)],
      [],
    ]) {
      const subject = [{ CN: ['odd ca'] }];
      const ca = await oddLeaf({ publicKey: new Uint8Array(publicKey), subject, extensions }, root);
      const leaf = await issueIdentity({ certificatePem: ca, privateKeyPem: key }, { csr, id: gatewayId, ...validity });
      await expect(verify(leaf.certificatePem, asServer, ca)).rejects.toMatchObject({ code: 'CERTIFICATE_REFUSED' });
    }
  });

  it('an RSA leaf', async () => {
    const rsa = {
      name: 'RSASSA-PKCS1-v1_5',
      hash: 'SHA-256',
      modulusLength: 2048,
      publicExponent: new Uint8Array([1, 0, 1]),
    };
    const { publicKey } = await webcrypto.subtle.generateKey(rsa, true, ['sign', 'verify']);
    await expect(verify(await oddLeaf({ publicKey }), asServer)).rejects.toThrow(/not ECDSA on P-256/);
  });

  it('every flipped bit of a leaf', async () => {
    const leaf = await issueIdentity(issuing, { csr, id: gatewayId, ...validity });
    const der = Buffer.from(leaf.certificatePem.replaceAll(/-----.*-----|\s/g, ''), 'base64');
    for (let index = 0; index < der.length; index += 1) {
      const flipped = Buffer.from(der);
      flipped[index] = (flipped[index] ?? 0) ^ (1 << (index % 8));
      const pem = `-----BEGIN CERTIFICATE-----\n${flipped.toString('base64')}\n-----END CERTIFICATE-----\n`;
      await expect(verify(pem, asServer), `byte ${index}`).rejects.toMatchObject({ code: 'CERTIFICATE_REFUSED' });
    }
  });
});

describe('readPeerCertificate', () => {
  const derOf = (pem: string): Buffer => Buffer.from(pem.replaceAll(/-----.*-----|\s/g, ''), 'base64');

  it('takes nothing within a name for another name', async () => {
    const uri = 'spiffe://fairlead.local/gateway/a';
    for (const names of [
      [{ type: 'dns', value: `x, URI:${uri}` }],
      [{ type: 'dns', value: `", URI:${uri}, DNS:"` }, uriOf('b')],
      [{ type: 'url', value: `${uri}, URI:${uri}` }],
      [{ type: 'url', value: `${uri}\0` }],
      [{ type: 'email', value: `URI:${uri}` }],
      [{ type: 'dn', value: `CN=URI:${uri}` }],
    ] as JsonGeneralNames[]) {
      const der = derOf(await oddLeaf({ names }));
      expect(() => readPeerCertificate(der)).toThrow(/certificate is refused/);
    }
    const twice = [
      new SubjectAlternativeNameExtension([uriOf('a')]),
      new SubjectAlternativeNameExtension([uriOf('b')]),
    ];
    const doubled = derOf(await oddLeaf({ extensions: twice }));
    expect(() => readPeerCertificate(doubled)).toThrow(/exactly one URI/);
  });

  it('takes nothing within an attribute of the subject for a generation', async () => {
    for (const value of ['x\nOU=generation:9', 'x + OU=generation:9', 'x\\nOU=generation:9', ' OU=generation:9']) {
      const der = derOf(await oddLeaf({ subject: [{ CN: [value] }, { OU: [value] }, { OU: ['generation:3'] }] }));
      expect(readPeerCertificate(der)).toMatchObject({ generation: 3, trustVersion: 0 });
    }
  });

  it('refuses bytes after the end, half a certificate, and a generation it cannot read', async () => {
    const leaf = await oddLeaf();
    const der = Buffer.from(leaf.replaceAll(/-----.*-----|\s/g, ''), 'base64');
    expect(readPeerCertificate(der)).toMatchObject({ serial: '01', generation: 0 });
    const refused = expect.objectContaining({ code: 'CERTIFICATE_REFUSED' }) as Error;
    for (const bytes of [Buffer.concat([der, Buffer.alloc(1)]), der.subarray(0, 100), Buffer.alloc(0)]) {
      expect(() => readPeerCertificate(bytes)).toThrow(refused);
    }
    for (const units of [
      ['trust:x'],
      ['trust:1', 'trust:1'],
      ['generation:'],
      ['generation:-1'],
      ['generation:01'],
      ['generation:1', 'generation:2'],
    ]) {
      const odd = await oddLeaf({ subject: [{ CN: ['x'] }, { OU: units }] });
      const bytes = Buffer.from(odd.replaceAll(/-----.*-----|\s/g, ''), 'base64');
      expect(() => readPeerCertificate(bytes)).toThrow(refused);
    }
  });
});
