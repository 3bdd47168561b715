import 'reflect-metadata';
import { X509Certificate, randomBytes } from 'node:crypto';
import { chmod, readFile, rm, stat, writeFile } from 'node:fs/promises';
import type { Caller } from '@fairlead/contracts';
import { Envelope } from '@fairlead/events';
import { silentLogger } from '@fairlead/observability';
import { createCsr, generatePrivateKey, readPeerCertificate, signProof, spkiPin, verifyChain } from '@fairlead/pki';
import { testAuthority } from '@fairlead/testing';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CertificateIssuer, CurrentCa, masterKeyFrom, masterKeyGiven, masterKeyInFile } from './index.js';
import { gatewayA, keysFixture, registration, source, trustDomain, type KeysFixture } from './testing/keys-fixture.js';

let fixture: KeysFixture;
let database: DataSource;
let issuer: CertificateIssuer;
let now = new Date();
let masterKeyFile: string;

beforeAll(async () => {
  fixture = await keysFixture();
  masterKeyFile = fixture.masterKeyFile;
  database = await fixture.connect();
});
afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
});

const open = (masterKey = masterKeyInFile(masterKeyFile)): Promise<CurrentCa> =>
  CurrentCa.open({
    database,
    masterKey: masterKeyFrom(masterKey),
    trustDomain,
    leafLifeSeconds: 86_400,
    source,
    logger: silentLogger,
    onCommitted: () => undefined,
    now: () => now,
  });

async function freshCsr(): Promise<{ key: string; der: Buffer; csr: string }> {
  const key = await generatePrivateKey();
  const der = Buffer.from(await createCsr(key));
  return { key, der, csr: der.toString('base64') };
}

/** Types, reasons and subjects of the last events, newest first. */
async function lastEvents(count: number): Promise<string[]> {
  const rows = (await database.query('select body from outbox order by id desc limit $1', [count])) as {
    body: string;
  }[];
  return rows.map(({ body }) => {
    const { type, data } = Envelope.parse(JSON.parse(body));
    return `${type.slice('dev.fairlead.'.length)} ${String(data['reason'])}`;
  });
}

async function enrolled(generation = 1): Promise<{ clusterId: string; key: string; chain: string[] }> {
  const clusterId = crypto.randomUUID();
  const { key, csr } = await freshCsr();
  const { chain } = await issuer.signAgent(registration, 'default', { clusterId, generation, csr });
  return { clusterId, key, chain };
}

async function renewal(from: {
  key: string;
  chain: string[];
}): Promise<Parameters<CertificateIssuer['renewAgent']>[1]> {
  const { der, csr } = await freshCsr();
  const proof = Buffer.from(await signProof(from.key, der)).toString('base64');
  return { csr, currentChain: from.chain, proof };
}

describe('the CA', () => {
  it('is made once, however many ask, with a 0600 master key and sealed keys', async () => {
    const all = await Promise.all([open(), open(), open()]);
    const pins = await Promise.all(all.map(async (ca) => (await ca.trustBundle()).pins));
    expect(new Set(pins.flat()).size).toBe(1);
    expect((await stat(masterKeyFile)).mode & 0o777).toBe(0o600);
    const rows = (await database.query('select sealed_key from authorities')) as { sealed_key: Buffer }[];
    expect(rows).toHaveLength(4);
    expect(rows.every((row) => !row.sealed_key.toString('latin1').includes('PRIVATE KEY'))).toBe(true);
    expect(await lastEvents(10)).toEqual(['ca.created.v1 OK']);
    const servingNames = { api: ['api.example'], gateway: ['localhost', '127.0.0.1'] };
    const options = { database, ca: all[0], servingNames, source, logger: silentLogger };
    issuer = new CertificateIssuer({ ...options, onCommitted: () => undefined, now: () => now });
  });

  it('cannot be opened without its master key, with another, or with one that others can read', async () => {
    const saved = await readFile(masterKeyFile, 'utf8');
    await chmod(masterKeyFile, 0o604);
    await expect(open()).rejects.toThrow(/chmod 600/);
    await rm(masterKeyFile);
    await expect(open()).rejects.toThrow(/is missing/);
    await expect(stat(masterKeyFile)).rejects.toThrow(/ENOENT/);
    await writeFile(masterKeyFile, randomBytes(32).toString('base64'), { mode: 0o600 });
    await expect(open()).rejects.toThrow(/another master key/);
    await writeFile(masterKeyFile, 'short');
    await expect(open()).rejects.toThrow(/does not hold 32 bytes/);
    await writeFile(masterKeyFile, saved);
    await expect(open()).resolves.toBeDefined();
    await expect(open(masterKeyGiven(saved))).resolves.toBeDefined();
    await expect(open(masterKeyGiven(randomBytes(32).toString('base64')))).rejects.toThrow(/another master key/);
    await expect(open(masterKeyGiven('short'))).rejects.toThrow(/FAIRLEAD_MASTER_KEY: it is not 32 bytes/);
  });
});

describe('signing', () => {
  it('gives an agent its identity, as leaf, issuing CA and root', async () => {
    const { clusterId, chain } = await enrolled(3);
    const bundle = await issuer.trustBundle();
    const peer = await verifyChain(chain, bundle.roots, { at: now, usage: 'clientAuth', trustDomain });
    expect(peer).toMatchObject({ id: { kind: 'agent', clusterId }, generation: 3 });
    expect([chain.length, chain[2], bundle.pins]).toEqual([3, bundle.roots[0], [spkiPin(bundle.roots[0]!)]]);
    expect(await lastEvents(1)).toEqual(['certificate.issued.v1 OK']);
    const server = verifyChain(chain, bundle.roots, { at: now, usage: 'serverAuth' });
    await expect(server).rejects.toMatchObject({ code: 'CERTIFICATE_REFUSED' });
  });

  it('gives a gateway the name of its credential', async () => {
    const { csr } = await freshCsr();
    const { chain, roots } = await issuer.signGateway(gatewayA, { csr });
    const peer = await verifyChain(chain, roots, { at: now, usage: 'serverAuth', trustDomain });
    expect(peer.id).toEqual({ kind: 'gateway', trustDomain, name: 'gateway-a' });
  });

  it('gives a client the name that registration gave it, for dialling only', async () => {
    const { csr } = await freshCsr();
    const clientId = crypto.randomUUID();
    const { chain, roots, serial } = await issuer.signClient(registration, 'default', { clientId, csr });
    const peer = await verifyChain(chain, roots, { at: now, usage: 'clientAuth', trustDomain });
    expect(peer).toMatchObject({ id: { kind: 'client', trustDomain, name: clientId }, serial });
    await expect(verifyChain(chain, roots, { at: now, usage: 'serverAuth' })).rejects.toMatchObject({
      code: 'CERTIFICATE_REFUSED',
    });
    const recorded: unknown = await database.query('select purpose, names from certificates where serial = $1', [
      serial,
    ]);
    expect(recorded).toEqual([{ purpose: 'client', names: [`spiffe://${trustDomain}/client/${clientId}`] }]);
    const bad = issuer.signClient(registration, 'default', { clientId, csr: 'AAAA' });
    await expect(bad).rejects.toMatchObject({ code: 'CSR_INVALID' });
    expect(await lastEvents(2)).toEqual(['certificate.refused.v1 CSR_INVALID', 'certificate.issued.v1 OK']);
  });

  it('certifies listed serving names only, from a root of their own', async () => {
    const { csr } = await freshCsr();
    const { chain, roots } = await issuer.signServing(gatewayA, { csr, names: ['LOCALHOST', '127.0.0.1'] });
    const leaf = new X509Certificate(chain[0]!);
    expect(leaf.subjectAltName).toBe('DNS:localhost, IP Address:127.0.0.1');
    const bundle = await issuer.trustBundle();
    expect(roots).toEqual([bundle.servingRoot]);
    expect(roots[0]).not.toBe(bundle.roots[0]);
    const foreign = issuer.signServing(gatewayA, { csr, names: ['localhost', 'example.com'] });
    await expect(foreign).rejects.toMatchObject({ code: 'FORBIDDEN' });
    expect(await lastEvents(1)).toEqual(['certificate.refused.v1 FORBIDDEN']);
  });

  it("gives a gateway no serving certificate for the admin API's name, nor the API one for a door's, nor anybody else any", async () => {
    const { csr } = await freshCsr();
    const asked = (caller: Caller, name: string) => issuer.signServing(caller, { csr, names: [name] });
    const api: Caller = { role: 'api', credential: 'api' };
    const { chain } = await asked(api, 'api.example');
    expect(new X509Certificate(chain[0]!).subjectAltName).toBe('DNS:api.example');
    const refused = [
      [gatewayA, 'API.example', 'FAIRLEAD_GATEWAY_SERVING_NAMES'],
      [api, 'localhost', 'FAIRLEAD_API_SERVING_NAMES'],
      [registration, 'localhost', 'no serving certificates'],
    ] as const;
    for (const [caller, name, why] of refused) {
      const message = expect.stringContaining(why) as string;
      await expect(asked(caller, name)).rejects.toMatchObject({ code: 'FORBIDDEN', message });
    }
    expect(await lastEvents(3)).toEqual(Array(3).fill('certificate.refused.v1 FORBIDDEN'));
  });

  it('refuses a bad request, and an older generation', async () => {
    const { clusterId } = await enrolled(2);
    const { csr } = await freshCsr();
    const older = issuer.signAgent(registration, 'default', { clusterId, generation: 1, csr });
    await expect(older).rejects.toMatchObject({ code: 'CONFLICT' });
    const bad = issuer.signAgent(registration, 'default', { clusterId, generation: 2, csr: 'AAAA' });
    await expect(bad).rejects.toMatchObject({ code: 'CSR_INVALID' });
    expect(await lastEvents(2)).toEqual(['certificate.refused.v1 CSR_INVALID', 'certificate.refused.v1 CONFLICT']);
  });
});

describe('renewal', () => {
  it('needs the current certificate, its key, and a fresh one', async () => {
    const agent = await enrolled();
    const { chain } = await issuer.renewAgent(gatewayA, await renewal(agent));
    const peer = readPeerCertificate(new X509Certificate(chain[0]!).raw);
    expect(peer).toMatchObject({ id: { clusterId: agent.clusterId }, generation: 1, trustVersion: 1 });

    const stolen = await renewal({ key: await generatePrivateKey(), chain: agent.chain });
    await expect(issuer.renewAgent(gatewayA, stolen)).rejects.toMatchObject({ code: 'CERTIFICATE_REFUSED' });
    const der = Buffer.from(await createCsr(agent.key));
    const proof = Buffer.from(await signProof(agent.key, der)).toString('base64');
    const same = issuer.renewAgent(gatewayA, { csr: der.toString('base64'), currentChain: agent.chain, proof });
    await expect(same).rejects.toMatchObject({ code: 'CSR_INVALID' });
    expect(await lastEvents(2)).toEqual([
      'certificate.refused.v1 CSR_INVALID',
      'certificate.refused.v1 CERTIFICATE_REFUSED',
    ]);
  });

  it('is not for clients', async () => {
    const { key, csr } = await freshCsr();
    const { chain } = await issuer.signClient(registration, 'default', { clientId: crypto.randomUUID(), csr });
    await expect(issuer.renewAgent(gatewayA, await renewal({ key, chain }))).rejects.toMatchObject({
      code: 'CERTIFICATE_REFUSED',
    });
  });

  it('refuses an older enrolment, a gateway and who is foreign', async () => {
    const agent = await enrolled();
    const { csr } = await freshCsr();
    await issuer.signAgent(registration, 'default', { clusterId: agent.clusterId, generation: 2, csr });
    await expect(issuer.renewAgent(gatewayA, await renewal(agent))).rejects.toThrow(/enrolled again/);

    const own = await freshCsr();
    const gateway = await issuer.signGateway(gatewayA, { csr: own.csr });
    await expect(
      issuer.renewAgent(gatewayA, await renewal({ key: own.key, chain: gateway.chain })),
    ).rejects.toMatchObject({
      code: 'CERTIFICATE_REFUSED',
    });
    const foreign = await (await testAuthority()).agent(agent.clusterId, { generation: 2 });
    const byForeignKey = await renewal({ key: foreign.privateKeyPem, chain: [...foreign.chain] });
    await expect(issuer.renewAgent(gatewayA, byForeignKey)).rejects.toMatchObject({ code: 'CERTIFICATE_REFUSED' });
  });

  it('takes an expired certificate within the recovery window, and none after it', async () => {
    const late = await enrolled();
    const lost = await enrolled();
    now = new Date(now.getTime() + 31 * 86_400_000 - 1_000);
    const { chain } = await issuer.renewAgent(gatewayA, await renewal(late));
    expect(new X509Certificate(chain[0]!).validToDate.getTime()).toBeGreaterThan(now.getTime());
    now = new Date(now.getTime() + 2_000);
    await expect(issuer.renewAgent(gatewayA, await renewal(lost))).rejects.toThrow(
      /too long ago .* fairlead cluster import/,
    );
    expect(await lastEvents(1)).toEqual(['certificate.refused.v1 CERTIFICATE_REFUSED']);
    now = new Date();
  });

  it('refuses a certificate of our CA that was never recorded', async () => {
    const agent = await enrolled();
    await database.query('delete from certificates where cluster_id = $1', [agent.clusterId]);
    await expect(issuer.renewAgent(gatewayA, await renewal(agent))).rejects.toThrow(/never issued/);
  });
});

it('renewals with made-up chains leaves so many events and no more', async () => {
  const counted = async (): Promise<number> => (await lastEvents(10_000)).length;
  const before = await counted();
  const { csr, proof } = await renewal(await enrolled());
  for (let n = 0; n < 300; n += 1) {
    const made = issuer.renewAgent(gatewayA, { csr, proof, currentChain: [`made up ${n}`] });
    await expect(made).rejects.toMatchObject({ code: 'CERTIFICATE_REFUSED' });
  }
  const told = (await counted()) - before;
  expect(told).toBeGreaterThan(190);
  expect(told).toBeLessThan(210);
});
