import 'reflect-metadata';
import { X509Certificate } from 'node:crypto';
import { openTrust, verifyChain } from '@fairlead/pki';
import { expect, it } from 'vitest';
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
const ISSUING_DAYS = 730;

let one: KeysProcess;
let two: KeysProcess;

const fixture = keysOfEach(async () => {
  [one, two] = await Promise.all([fixture.start(), fixture.start()]);
});

const at = (): Date => new Date(fixture.nowMs);

async function gateway({ issuer }: KeysProcess): Promise<string[]> {
  return (await issuer.signGateway(gatewayA, { csr: (await newCsr()).csr })).chain;
}

async function serving({ issuer }: KeysProcess): Promise<string[]> {
  return (await issuer.signServing(gatewayA, { csr: (await newCsr()).csr, names: ['localhost'] })).chain;
}

/** As an installation is whose root is kept elsewhere. */
async function takeRootOffline(): Promise<void> {
  await one.database.query(`update authorities set sealed_key = null where kind = 'identity-root'`);
  [one, two] = await Promise.all([fixture.start(), fixture.start()]);
}

it('replaces an issuing CA when a third of its life is left, in both trees and every process, and tells nobody', async () => {
  const before = await one.ca.trustBundle();
  fixture.nowMs += ((ISSUING_DAYS * 2) / 3 - 1) * DAY_MS;
  const agent = await enrol(one);
  const early = await gateway(one);
  expect(early[1]).toBe(agent.chain[1]);
  fixture.nowMs += DAY_MS + 600_000;
  const [mine, other] = [await gateway(one), await gateway(two)];
  expect([mine[1] === early[1], other[1], mine[2]]).toEqual([false, mine[1], early[2]]);
  expect(new X509Certificate(mine[1] as string).validToDate.getTime()).toBeGreaterThan(at().getTime() + 700 * DAY_MS);
  expect((await serving(two))[2]).toBe(before.servingRoot);
  const after = await two.ca.trustBundle();
  expect([after.version, after.roots, after.pins]).toEqual([before.version, before.roots, before.pins]);
  expect(after.signed.bundle).toBe(before.signed.bundle);
  expect(after.signed.signerChain).not.toEqual(before.signed.signerChain);
  const events = (await caEvents(one)).slice(0, 2);
  expect(events.map(({ type, data }) => `${type} ${String(data['tree'])}`)).toEqual([
    'ca.issuing-replaced.v1 serving',
    'ca.issuing-replaced.v1 identity',
  ]);
  // What the one before signed is worth as much as ever.
  await expect(renew(two, agent)).resolves.toBeDefined();
});

it('gives a bundle that is believed after the issuing CA that first signed it has ended', async () => {
  fixture.nowMs += (ISSUING_DAYS + 1) * DAY_MS;
  await Promise.all([one.ca.upkeep(), two.ca.upkeep()]);
  const { signed, roots } = await two.ca.trustBundle();
  const bundle = Buffer.from(signed.bundle, 'base64');
  const opened = openTrust(
    { bundle, signature: Buffer.from(signed.signature, 'base64'), signerChainPem: signed.signerChain },
    { rootsPem: roots, trustDomain, at: at() },
  );
  await expect(opened).resolves.toMatchObject({ version: 1 });
  const identity = (await caEvents(one)).filter(({ data }) => data['tree'] === 'identity');
  expect(identity).toHaveLength(1);
});

it('replaces one that has ended at the first request after it', async () => {
  fixture.nowMs += (ISSUING_DAYS + 30) * DAY_MS;
  const chain = await gateway(two);
  const { roots } = await one.ca.trustBundle();
  await expect(verifyChain(chain, roots, { at: at(), usage: 'serverAuth', trustDomain })).resolves.toBeDefined();
});

it('below an offline root, signs nothing that outlives the issuing CA, and then nothing at all, saying what to do', async () => {
  await takeRootOffline();
  expect((await one.rotation.status()).authorities).toContainEqual(
    expect.objectContaining({ tree: 'identity', role: 'root', key: 'offline' }),
  );
  const issuingEnd = new X509Certificate((await gateway(one))[1] as string).validToDate;
  const agent = await enrol(one);
  fixture.nowMs = issuingEnd.getTime() - 3_600_000;
  const [leaf = ''] = await gateway(one);
  expect(new X509Certificate(leaf).validToDate).toEqual(issuingEnd);
  const recent = await enrol(one);

  fixture.nowMs = issuingEnd.getTime() + 1_000;
  const clientId = crypto.randomUUID();
  const { csr } = await newCsr();
  for (const refused of [
    () => gateway(one),
    () => enrol(two),
    () => renew(two, recent),
    () => one.issuer.signClient(registration, 'default', { clientId, csr }),
  ]) {
    await expect(refused()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(refused()).rejects.toThrow(/issuing CA of the identity tree ended on .*fairlead-keys issuing-csr/);
  }
  await expect(renew(two, agent)).rejects.toMatchObject({ code: 'CERTIFICATE_REFUSED' });
  await expect(serving(one)).resolves.toHaveLength(3);
  await expect(one.rotation.rotate(api, { step: 'prepare', force: false })).rejects.toThrow(/offline.*import-ca/);
});
