import 'reflect-metadata';
import { silentLogger } from '@fairlead/observability';
import { highestToSign, highestVersion, openTrust } from '@fairlead/pki';
import { expect, it } from 'vitest';
import { masterKeyFrom, masterKeyInFile, raiseTrust, type CurrentCaOptions } from './index.js';
import {
  api,
  caEvents,
  gatewayA,
  keysOfEach,
  newCsr,
  source,
  trustDomain,
  type KeysProcess,
} from './testing/keys-fixture.js';

let keys: KeysProcess;

const fixture = keysOfEach(async () => undefined);

async function options(): Promise<CurrentCaOptions> {
  const masterKey = masterKeyFrom(masterKeyInFile(fixture.masterKeyFile));
  const runtime = { database: await fixture.connect(), source, logger: silentLogger, onCommitted: () => undefined };
  return { ...runtime, masterKey, trustDomain, leafLifeSeconds: 86_400 };
}

it('signs the same roots under a higher version, which every process gives out, and which holders take', async () => {
  keys = await fixture.start();
  const before = await keys.ca.trustBundle();
  expect(await raiseTrust(await options(), 3_000)).toBe(3_001);
  const { version, roots, signed } = await keys.ca.trustBundle();
  expect([version, roots]).toEqual([3_001, before.roots]);
  const wire = {
    bundle: Buffer.from(signed.bundle, 'base64'),
    signature: Buffer.from(signed.signature, 'base64'),
    signerChainPem: signed.signerChain,
  };
  const held = { rootsPem: before.roots, trustDomain, at: new Date() };
  expect(await openTrust(wire, held)).toMatchObject({ version: 3_001 });
  expect(await caEvents(keys)).toContainEqual(
    expect.objectContaining({ type: 'ca.trust-raised.v1', data: expect.objectContaining({ trustVersion: 3_001 }) }),
  );
  // The next step counts on from there.
  expect(await keys.rotation.rotate(api, { step: 'prepare', force: false })).toMatchObject({ trustVersion: 3_002 });
});

it('overtakes whatever an agent can have been given until two days before, in one step, and everybody takes it', async () => {
  keys = await fixture.start();
  const { roots } = await keys.ca.trustBundle();
  const given = highestVersion(new Date(fixture.nowMs));
  const later = new Date(fixture.nowMs + 52 * 3_600_000);
  const current = await options();
  await expect(raiseTrust(current, given)).rejects.toMatchObject({ code: 'CONFLICT' });
  const version = await raiseTrust({ ...current, now: () => later }, given);
  expect(version).toBe(given + 1);
  const { signed } = await keys.ca.trustBundle();
  const wire = {
    bundle: Buffer.from(signed.bundle, 'base64'),
    signature: Buffer.from(signed.signature, 'base64'),
    signerChainPem: signed.signerChain,
  };
  expect(await openTrust(wire, { rootsPem: roots, trustDomain, at: later })).toMatchObject({ version });
});

it('leaves twenty versions for a revocation and a rotation, which may follow at once', async () => {
  keys = await fixture.start();
  const current = { ...(await options()), now: () => new Date(fixture.nowMs) };
  const highest = highestToSign(current.now());
  await expect(raiseTrust(current, highest - 20)).rejects.toThrow(`may rise from 1 to ${highest - 20} now`);
  expect(await raiseTrust(current, highest - 21)).toBe(highest - 20);
  await expect(raiseTrust(current, 1)).rejects.toMatchObject({ code: 'CONFLICT' });
  await keys.issuer.signGateway(gatewayA, await newCsr());
  await keys.revocations.revokeGateway(api, { name: 'gateway-a', reason: 'the machine was taken over' });
  expect((await keys.ca.trustBundle()).version).toBe(highest - 19);
  for (let version = highest - 18; version <= highest; version += 1) {
    const step = (version - highest) % 2 === 0 ? 'prepare' : 'abort';
    expect(await keys.rotation.rotate(api, { step, force: false })).toMatchObject({ trustVersion: version });
  }
  // Beyond it nothing is signed: nobody would take it.
  await expect(keys.rotation.rotate(api, { step: 'abort', force: false })).rejects.toThrow(/by ten more each day/);
});

it('is refused for too many, in a rotation, and before there is a CA', async () => {
  await expect(raiseTrust(await options(), 1)).rejects.toMatchObject({ code: 'CONFLICT' });
  keys = await fixture.start();
  for (const by of [0, -1, 1.5, Number.NaN]) {
    await expect(raiseTrust(await options(), by)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  }
  await expect(raiseTrust(await options(), 900_000)).rejects.toThrow(/may rise from 1 to \d+ now/);
  await keys.rotation.rotate(api, { step: 'prepare', force: false });
  await expect(raiseTrust(await options(), 1)).rejects.toMatchObject({ code: 'CONFLICT' });
  expect((await keys.ca.trustBundle()).version).toBe(2);
});
