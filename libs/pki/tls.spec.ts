import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { isIP, type AddressInfo } from 'node:net';
import { connect, createServer, type PeerCertificate as TlsPeer } from 'node:tls';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  checkCsr,
  createCsr,
  createIssuing,
  createRoot,
  crossSign,
  generatePrivateKey,
  issueIdentity,
  issueServing,
  readPeerCertificate,
  type Authority,
  withoutRoot,
  type SpiffeId,
} from './index.js';
import { importCaKeyPair } from './private-key.js';
import { bothEnds } from './testing/both-ends.js';
import {
  BasicConstraintsExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from './x509.js';

const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
const agentId: SpiffeId = {
  kind: 'agent',
  trustDomain: 'fairlead.local',
  clusterId: '7b0c6f4e-2f5a-4c7e-9a57-8f1f4b1c2d3e',
};

interface Holder {
  readonly key: string;
  readonly cert: string;
}

let root: Authority;
let issuing: Authority;
let server: Holder;
let agent: Holder;

beforeAll(async () => {
  root = await createRoot({ commonName: 'root', ...validity });
  issuing = await createIssuing(root, { commonName: 'issuing', ...validity });
  const serverKey = await generatePrivateKey();
  const names = ['127.0.0.1', 'localhost'];
  const serverCsr = await checkCsr(await createCsr(serverKey));
  server = holder(serverKey, (await issueServing(issuing, { csr: serverCsr, names, ...validity })).certificatePem);
  const agentKey = await generatePrivateKey();
  const agentCsr = await checkCsr(await createCsr(agentKey));
  agent = holder(agentKey, (await issueIdentity(issuing, { csr: agentCsr, id: agentId, ...validity })).certificatePem);
});

const holder = (key: string, leaf: string): Holder => ({ key, cert: leaf + issuing.certificatePem });

/** One TLS 1.3 handshake with client certificates required; what the server saw of the client. */
async function handshake(client: Partial<Holder>, ca: string, host = 'localhost'): Promise<TlsPeer> {
  const listener = createServer({ ...server, ca: root.certificatePem, requestCert: true, minVersion: 'TLSv1.3' });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const socket = connect({
    ...client,
    ca,
    host: '127.0.0.1',
    ...(isIP(host) === 0 ? { servername: host } : {}),
    port: (listener.address() as AddressInfo).port,
  });
  try {
    return (await bothEnds(listener, socket)).getPeerCertificate(true);
  } finally {
    socket.destroy();
    listener.close();
  }
}

describe("Node's own TLS", () => {
  it('verifies both sides, and the identity reads from what it hands over', async () => {
    const peer = await handshake(agent, root.certificatePem);
    expect(readPeerCertificate(peer.raw)).toMatchObject({ id: agentId });
  });

  it('verifies an address in the certificate too', async () => {
    await expect(handshake(agent, root.certificatePem, '127.0.0.1')).resolves.toBeDefined();
  });

  it('refuses another root and another name', async () => {
    const other = await createRoot({ commonName: 'root', ...validity });
    await expect(handshake(agent, other.certificatePem)).rejects.toThrow(/certificate/);
    await expect(handshake(agent, root.certificatePem, 'elsewhere.example')).rejects.toThrow(/altnames/);
  });

  it('verifies a chain that is shown without its root, which is all that is taken from it', async () => {
    const [leaf = ''] = agent.cert.split(issuing.certificatePem);
    const shown = withoutRoot([leaf, issuing.certificatePem, root.certificatePem]);
    expect(shown).toEqual([leaf, issuing.certificatePem]);
    expect(withoutRoot([root.certificatePem])).toEqual([root.certificatePem]);
    const peer = await handshake({ key: agent.key, cert: shown.join('') }, root.certificatePem);
    expect(readPeerCertificate(peer.raw)).toMatchObject({ id: agentId });
  });

  it('verifies a chain to the old root through one for a next root whose maker names its key in another way', async () => {
    const next = await createRootWithKeyId('0102030405');
    const below = await createIssuing(next, { commonName: 'issuing', ...validity });
    const cross = await crossSign(root, next.certificatePem, validity);
    const csr = await checkCsr(await createCsr(agent.key));
    const leaf = await issueIdentity(below, { csr, id: agentId, ...validity });
    const client = { key: agent.key, cert: leaf.certificatePem + below.certificatePem + cross };
    expect(readPeerCertificate((await handshake(client, root.certificatePem)).raw)).toMatchObject({ id: agentId });
    const alone = { key: agent.key, cert: leaf.certificatePem + below.certificatePem };
    await expect(handshake(alone, root.certificatePem)).rejects.toThrow(/hang up/);
  });

  it('refuses a serving certificate as a client', async () => {
    await expect(handshake(server, root.certificatePem)).rejects.toThrow(/hang up/);
  });
});

/** As somebody's own tools may make it, on P-384. */
async function createRootWithKeyId(keyId: string): Promise<Authority> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'secp384r1' });
  const privateKeyPem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const { keys, signingAlgorithm } = await importCaKeyPair(privateKeyPem);
  const extensions = [
    new BasicConstraintsExtension(true, undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true),
    new SubjectKeyIdentifierExtension(keyId),
  ];
  const name = 'CN=next, O=Example';
  const root = await X509CertificateGenerator.createSelfSigned({
    name,
    keys,
    signingAlgorithm,
    extensions,
    ...validity,
  });
  return { certificatePem: root.toString('pem'), privateKeyPem };
}
