import 'reflect-metadata';
import { silentLogger } from '@fairlead/observability';
import { openTrust } from '@fairlead/pki';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { masterKeyInFile, raiseTrust, type CurrentCaOptions } from './index.js';
import {
  api,
  caEvents,
  keysFixture,
  source,
  trustDomain,
  type KeysFixture,
  type KeysProcess,
} from './testing/keys-fixture.js';

let fixture: KeysFixture;
let keys: KeysProcess;

beforeAll(async () => {
  fixture = await keysFixture();
});
afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await fixture.reset();
});

async function options(): Promise<CurrentCaOptions> {
  const masterKey = masterKeyInFile(fixture.masterKeyFile);
  const runtime = { database: await fixture.connect(), source, logger: silentLogger, onCommitted: () => undefined };
  return { ...runtime, masterKey, trustDomain, leafLifeSeconds: 86_400 };
}

it('signs the same roots under a higher version, which every process gives out, and which holders take', async () => {
  keys = await fixture.start();
  const before = await keys.ca.trustBundle();
  expect(await raiseTrust(await options(), 500)).toBe(501);
  const { version, roots, signed } = await keys.ca.trustBundle();
  expect([version, roots]).toEqual([501, before.roots]);
  const wire = {
    bundle: Buffer.from(signed.bundle, 'base64'),
    signature: Buffer.from(signed.signature, 'base64'),
    signerChainPem: signed.signerChain,
  };
  const held = { rootsPem: before.roots, trustDomain, at: new Date(), version: before.version };
  expect(await openTrust(wire, held)).toMatchObject({ version: 501 });
  expect(await caEvents(keys)).toContainEqual(
    expect.objectContaining({ type: 'ca.trust-raised.v1', data: expect.objectContaining({ trustVersion: 501 }) }),
  );
  // The next step counts on from there.
  expect(await keys.rotation.rotate(api, { step: 'prepare', force: false })).toMatchObject({ trustVersion: 502 });
});

it('is refused for too many, in a rotation, and before there is a CA', async () => {
  await expect(raiseTrust(await options(), 1)).rejects.toMatchObject({ code: 'CONFLICT' });
  keys = await fixture.start();
  for (const by of [0, -1, 1.5, 501, Number.NaN]) {
    await expect(raiseTrust(await options(), by)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  }
  await keys.rotation.rotate(api, { step: 'prepare', force: false });
  await expect(raiseTrust(await options(), 1)).rejects.toMatchObject({ code: 'CONFLICT' });
  expect((await keys.ca.trustBundle()).version).toBe(2);
});
