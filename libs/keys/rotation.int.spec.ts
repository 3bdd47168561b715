import 'reflect-metadata';
import { X509Certificate } from 'node:crypto';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { SignedTrust as WireTrust } from '@fairlead/contracts';
import { openTrust, verifyChain, withoutRoot, type TrustedRoots } from '@fairlead/pki';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  api,
  caEvents,
  enrol,
  gatewayA,
  keysFixture,
  newCsr,
  registration,
  renew,
  trustDomain,
  type KeysFixture,
  type KeysProcess,
} from './testing/keys-fixture.js';

const DAY_MS = 86_400_000;
const step = (name: 'prepare' | 'activate' | 'retire' | 'abort', force = false) => ({ step: name, force });

let fixture: KeysFixture;
let one: KeysProcess;
let two: KeysProcess;

beforeAll(async () => {
  fixture = await keysFixture();
});
afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await fixture.reset();
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

/** What a TLS client that trusts only these roots thinks of a server with this chain. */
async function handshake(server: { key: string; chain: readonly string[] }, ca: string): Promise<boolean | string> {
  const listener = createServer({ key: server.key, cert: withoutRoot(server.chain).join('') });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  const socket: TLSSocket = connect({ port, host: '127.0.0.1', ca, checkServerIdentity: () => undefined });
  try {
    await once(socket, 'secureConnect');
    return socket.authorized;
  } catch (error) {
    return (error as { code: string }).code;
  } finally {
    socket.destroy();
    listener.close();
  }
}

async function gateway(process: KeysProcess): Promise<{ key: string; chain: string[]; roots: string[] }> {
  const { key, csr } = await newCsr();
  const { chain, roots } = await process.issuer.signGateway(gatewayA, { csr });
  return { key, chain, roots };
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
    const { chain, roots } = await gateway(two);
    expect([chain.length, roots]).toEqual([3, after.roots]);
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

describe('activate', () => {
  it('waits until the agent of every cluster said that it knows the next root', async () => {
    const agent = await enrol(one);
    await one.rotation.rotate(api, step('prepare'));
    await acknowledge(agent.clusterId, 1);
    const waiting = two.rotation.rotate(api, step('activate'));
    await expect(waiting).rejects.toMatchObject({ code: 'CONFLICT' });
    await expect(waiting).rejects.toThrow(new RegExp(`1 of 1 clusters .*${agent.clusterId}.*--force`));
    const { rotation } = await two.rotation.status();
    expect(rotation?.waitingFor).toMatchObject([
      { tenantId: 'default', clusterId: agent.clusterId, heldVersion: 1, why: 'unacknowledged' },
    ]);
    await acknowledge(agent.clusterId, 2);
    // Two gateways report in any order; an older answer takes nothing back.
    await acknowledge(agent.clusterId, 1);
    expect((await two.rotation.status()).rotation).toMatchObject({ clusters: 1, clustersDone: 1, waitingFor: [] });
    await expect(two.rotation.rotate(api, step('activate'))).resolves.toMatchObject({ trustVersion: 3 });
  });

  it('waits for replicas, and goes on without them only by force, which is told', async () => {
    await enrol(one);
    await enrol(one);
    await one.rotation.rotate(api, step('prepare'));
    const replica = { credential: 'gateway-b', instance: crypto.randomUUID(), heldVersion: 1 };
    fixture.behind = [replica];
    await expect(one.rotation.rotate(api, step('activate'))).rejects.toThrow(/gateway-b has 1/);
    expect((await one.rotation.status()).rotation?.gateways).toEqual([replica]);
    await one.rotation.rotate(api, step('activate', true));
    expect((await caEvents(one))[0]).toMatchObject({
      type: 'ca.activated.v1',
      data: { forced: true, cutOffClusters: 2, cutOffGateways: 1, cutOffCertificates: 0, actor: { id: 'api' } },
    });
  });

  it('does not wait for clusters that cannot come back: revoked, enrolled anew, away for too long', async () => {
    const [away, single, fenced] = [await enrol(one), await enrol(one), await enrol(one)];
    await one.revocations.revokeCertificate(api, 'default', { serial: single.serial, reason: 'lost' });
    const { clusterId } = fenced;
    await one.revocations.revokeGenerations('default', { clusterId, throughGeneration: 1, reason: 'deleted' });
    fixture.nowMs += 20 * DAY_MS;
    const here = await enrol(one);
    await one.rotation.rotate(api, step('prepare'));
    await acknowledge(here.clusterId, 2);
    const { rotation } = await one.rotation.status();
    expect(rotation).toMatchObject({ clusters: 2, clustersDone: 1, waitingFor: [{ clusterId: away.clusterId }] });
    fixture.nowMs = new Date(rotation?.waitingFor[0]?.waitedUntil ?? 0).getTime() + 1_000;
    await expect(one.rotation.rotate(api, step('activate'))).resolves.toMatchObject({ trustVersion: 3 });
  });

  it('counts no version that was never made, and nobody who is unknown', async () => {
    const agent = await enrol(one);
    await one.rotation.acknowledge([
      { clusterId: agent.clusterId, version: 0xff_ff_ff_ff },
      { clusterId: agent.clusterId, version: 1 },
      { clusterId: crypto.randomUUID(), version: 1 },
    ]);
    const held: unknown = await one.database.query('select version from trust_acknowledgements');
    expect(held).toEqual([{ version: 1 }]);
    await one.rotation.rotate(api, step('prepare'));
    await expect(one.rotation.rotate(api, step('activate'))).rejects.toMatchObject({ code: 'CONFLICT' });
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
