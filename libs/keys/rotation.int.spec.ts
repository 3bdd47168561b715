import 'reflect-metadata';
import { X509Certificate } from 'node:crypto';
import type { Issued, SignedTrust as WireTrust } from '@fairlead/contracts';
import { openTrust, verifyChain, type TrustedRoots } from '@fairlead/pki';
import { describe, expect, it } from 'vitest';
import { handshake } from './testing/handshake.js';
import {
  api,
  caEvents,
  enrol,
  gatewayA,
  keysOfEach,
  newCsr,
  registration,
  renew,
  trustDomain,
  type KeysProcess,
} from './testing/keys-fixture.js';

const DAY_MS = 86_400_000;
const step = (name: 'prepare' | 'activate' | 'retire' | 'abort', force = false) => ({ step: name, force });

let one: KeysProcess;
let two: KeysProcess;

const fixture = keysOfEach(async () => {
  [one, two] = await Promise.all([fixture.start(), fixture.start()]);
});

const at = (): Date => new Date(fixture.nowMs);

function open(signed: WireTrust, rootsPem: readonly string[]): Promise<TrustedRoots> {
  const bundle = Buffer.from(signed.bundle, 'base64');
  const signature = Buffer.from(signed.signature, 'base64');
  return openTrust({ bundle, signature, signerChainPem: signed.signerChain }, { rootsPem, trustDomain, at: at() });
}

const acknowledge = (clusterId: string, version: number): Promise<void> =>
  one.rotation.acknowledge([{ clusterId, version }]);

async function gateway(process: KeysProcess): Promise<Issued & { readonly key: string }> {
  const { key, csr } = await newCsr();
  return { ...(await process.issuer.signGateway(gatewayA, { csr })), key };
}

describe('a root', () => {
  it('is alone at first, and takes no step out of turn', async () => {
    const status = await one.rotation.status();
    expect(status).toMatchObject({ trustVersion: 1, trustDomain, rotation: null });
    expect(status.authorities.map(({ tree, role, state, key }) => `${tree} ${role} ${state} ${key}`).sort()).toEqual([
      'identity issuing active sealed',
      'identity root active sealed',
      'serving issuing active sealed',
      'serving root active sealed',
    ]);
    for (const name of ['activate', 'retire', 'abort'] as const) {
      await expect(one.rotation.rotate(api, step(name, true))).rejects.toMatchObject({ code: 'CONFLICT' });
    }
    const bundle = await one.ca.trustBundle();
    await expect(open(bundle.signed, bundle.roots)).resolves.toMatchObject({ version: 1, trustDomain });
  });

  it('is joined by the next one, in every process, in a bundle that holders of the old one believe', async () => {
    const before = await two.ca.trustBundle();
    const status = await one.rotation.rotate(api, step('prepare'));
    expect(status).toMatchObject({ trustVersion: 2, rotation: { step: 'prepared', clusters: 0, clustersDone: 0 } });
    const after = await two.ca.trustBundle();
    expect([after.version, after.roots[0], after.roots.length]).toEqual([2, before.roots[0], 2]);
    await expect(open(after.signed, before.roots)).resolves.toMatchObject({ version: 2, rootsPem: after.roots });
    const { chain, roots, trustVersion } = await gateway(two);
    expect([chain.length, roots, trustVersion]).toEqual([3, after.roots, 2]);
    const agent = await enrol(one);
    expect(await renew(two, agent)).toMatchObject({ trustVersion: 2 });
    for (const name of ['prepare', 'retire'] as const) {
      await expect(two.rotation.rotate(api, step(name))).rejects.toThrow(/fairlead ca activate/);
    }
    expect((await caEvents(one))[0]).toMatchObject({
      type: 'ca.prepared.v1',
      data: { pins: after.pins, trustVersion: 2, imported: false, actor: { id: 'api' } },
    });
  });

  it('is taken back while it is only prepared', async () => {
    const before = await one.ca.trustBundle();
    await one.rotation.rotate(api, step('prepare'));
    const status = await two.rotation.rotate(api, step('abort'));
    expect(status).toMatchObject({ trustVersion: 3, rotation: null });
    const after = await one.ca.trustBundle();
    expect([after.roots, after.version]).toEqual([before.roots, 3]);
    expect((await caEvents(one))[0]).toMatchObject({ type: 'ca.aborted.v1', data: { trustVersion: 3 } });
    const kept: unknown = await one.database.query(`select sealed_key from authorities where state = 'retired'`);
    expect(kept).toEqual([{ sealed_key: null }, { sealed_key: null }]);
    await expect(one.rotation.rotate(api, step('prepare'))).resolves.toMatchObject({ trustVersion: 4 });
  });
});

describe('from activate to retire', () => {
  it('every process signs by the new root, in chains that holders of either root believe', async () => {
    const old = (await one.ca.trustBundle()).roots[0] as string;
    await one.rotation.rotate(api, step('prepare'));
    await one.rotation.rotate(api, step('activate'));
    const bundle = await two.ca.trustBundle();
    const fresh = bundle.roots[0] as string;
    expect([bundle.roots.length, bundle.roots[1]]).toEqual([2, old]);
    const server = await gateway(two);
    expect([server.chain.length, server.chain[3], server.roots]).toEqual([4, fresh, bundle.roots]);
    for (const root of [old, fresh]) {
      const options = { at: at(), usage: 'serverAuth', trustDomain } as const;
      await expect(verifyChain(server.chain, [root], options)).resolves.toMatchObject({ id: { name: 'gateway-a' } });
      expect(await handshake(server, root)).toBe(true);
      await expect(open(bundle.signed, [root])).resolves.toMatchObject({ version: 3 });
    }
    const serving = await two.issuer.signServing(gatewayA, { csr: (await newCsr()).csr, names: ['localhost'] });
    expect([serving.chain.length, serving.roots]).toEqual([3, [bundle.servingRoot]]);
  });

  it('an agent renews by its old certificate, and no more after the old root was retired', async () => {
    const [agent, late] = [await enrol(one), await enrol(one)];
    const [old = ''] = (await one.ca.trustBundle()).roots;
    await one.rotation.rotate(api, step('prepare'));
    for (const { clusterId } of [agent, late]) await acknowledge(clusterId, 2);
    await one.rotation.rotate(api, step('activate'));
    await expect(one.rotation.rotate(api, step('prepare'))).rejects.toThrow(/fairlead ca retire/);
    await expect(one.rotation.rotate(api, step('retire'))).rejects.toThrow(
      /2 of 2 clusters with a certificate of the old/,
    );
    const renewed = await renew(two, agent);
    expect(renewed.roots).toEqual((await two.ca.trustBundle()).roots);
    const { rotation } = await two.rotation.status();
    expect(rotation).toMatchObject({ step: 'activated', clusters: 2, clustersDone: 1 });
    expect(rotation?.waitingFor).toMatchObject([{ clusterId: late.clusterId, why: 'old-certificate' }]);
    await one.rotation.rotate(api, step('retire', true));
    expect((await caEvents(one))[0]).toMatchObject({
      type: 'ca.retired.v1',
      data: { forced: true, cutOffClusters: 1 },
    });
    await expect(renew(two, late)).rejects.toMatchObject({ code: 'CERTIFICATE_REFUSED' });
    await expect(renew(two, { ...agent, chain: renewed.chain, key: agent.key })).rejects.toThrow(
      /not signed by the key/,
    );
    const alone = await gateway(two);
    expect([alone.chain.length, alone.roots.length]).toEqual([3, 1]);
    expect(await handshake(alone, alone.roots[0] as string)).toBe(true);
    expect(await handshake(alone, old)).toBe('UNABLE_TO_GET_ISSUER_CERT_LOCALLY');
    await expect(open((await two.ca.trustBundle()).signed, [old])).rejects.toThrow(/does not lead to a trusted root/);
  });

  it('an agent that slept through it all renews an expired certificate within the window', async () => {
    const agent = await enrol(one);
    await one.rotation.rotate(api, step('prepare'));
    await one.rotation.rotate(api, step('activate', true));
    fixture.nowMs += 20 * DAY_MS;
    const renewed = await renew(two, agent);
    const options = { at: at(), usage: 'clientAuth', trustDomain } as const;
    await expect(verifyChain(renewed.chain, [agent.chain.at(-1) as string], options)).resolves.toBeDefined();
    await expect(one.rotation.rotate(api, step('retire'))).resolves.toMatchObject({ trustVersion: 4, rotation: null });
  });

  it('retire waits for the certificates of gateways and clients, at most as long as they live', async () => {
    await gateway(one);
    const clientId = crypto.randomUUID();
    const client = await one.issuer.signClient(registration, 'default', { clientId, csr: (await newCsr()).csr });
    await one.rotation.rotate(api, step('prepare'));
    await one.rotation.rotate(api, step('activate'));
    await gateway(one);
    const { rotation } = await one.rotation.status();
    expect(rotation).toMatchObject({ otherCertificates: 2, otherCertificatesUntil: client.notAfter });
    await expect(one.rotation.rotate(api, step('retire'))).rejects.toThrow(/clients and gateways by the old root: 2/);
    await one.revocations.revokeCertificate(api, 'default', { serial: client.serial, reason: 'lost' });
    expect((await one.rotation.status()).rotation).toMatchObject({ otherCertificates: 1 });
    fixture.nowMs += DAY_MS;
    await expect(one.rotation.rotate(api, step('retire'))).resolves.toMatchObject({ rotation: null });
  });

  it('a root is rotated again, and the bundles of each version lead from one to the next', async () => {
    let held = (await one.ca.trustBundle()).roots;
    const pins = new Set<string>();
    for (const name of ['prepare', 'activate', 'retire', 'prepare', 'activate', 'retire'] as const) {
      await one.rotation.rotate(api, step(name));
      const { signed, roots } = await two.ca.trustBundle();
      held = [...(await open(signed, held)).rootsPem];
      expect(held.map((pem) => new X509Certificate(pem).subject)).toEqual(
        roots.map((pem) => new X509Certificate(pem).subject),
      );
      for (const pem of roots) pins.add(pem);
    }
    expect([pins.size, held.length]).toEqual([3, 1]);
  });
});
