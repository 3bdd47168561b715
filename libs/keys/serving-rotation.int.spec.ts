import { silentLogger } from '@fairlead/observability';
import { expect, it } from 'vitest';
import { masterKeyFrom, masterKeyInFile, rotateServingRoot, type ServingStep } from './index.js';
import { handshake } from './testing/handshake.js';
import {
  caEvents,
  gatewayA,
  keysOfEach,
  newCsr,
  source,
  trustDomain,
  type KeysProcess,
} from './testing/keys-fixture.js';

const DAY_MS = 86_400_000;
let serving: KeysProcess;
const fixture = keysOfEach(async () => {
  serving = await fixture.start();
});

function go(step: ServingStep, force = false): ReturnType<typeof rotateServingRoot> {
  const { database } = serving;
  const masterKey = masterKeyFrom(masterKeyInFile(fixture.masterKeyFile));
  const now = (): Date => new Date(fixture.nowMs);
  const options = { database, masterKey, trustDomain, source, now, logger: silentLogger, onCommitted: () => undefined };
  return rotateServingRoot({ ...options, leafLifeSeconds: 86_400 }, step, force);
}

/** A server of a gateway, as the process that serves certifies it. */
async function server(): Promise<{ key: string; chain: readonly string[] }> {
  const { key, csr } = await newCsr();
  const { chain } = await serving.issuer.signServing(gatewayA, { csr, names: ['localhost'] });
  return { key, chain };
}

const handedOut = async (): Promise<string> => (await serving.ca.trustBundle()).servingRoot;

it('leads from one root to the next, and every file that was handed out works until the old root is retired', async () => {
  const old = await handedOut();
  const { pins, roots } = await serving.ca.trustBundle();
  const first = await server();
  await go('prepare');
  const both = await handedOut();
  expect(both.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
  expect(both.startsWith(old.trim())).toBe(true);
  await go('activate');
  const between = await handedOut();
  const second = await server();
  for (const [shown, file] of [
    [first, old],
    [first, both],
    [first, between],
    [second, old],
    [second, both],
    [second, between],
  ] as const)
    expect(await handshake(shown, file)).toBe(true);
  await expect(go('retire')).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('1 certificates of the old root have not ended'),
  });
  await expect(go('status')).resolves.toMatchObject({ certificates: 1, roots: [{}, {}] });
  fixture.nowMs += DAY_MS + 1_000;
  await expect(go('retire')).resolves.toMatchObject({ certificates: 0, roots: [{ state: 'active' }] });
  const fresh = await handedOut();
  expect(fresh.match(/BEGIN CERTIFICATE/g)).toHaveLength(1);
  fixture.nowMs -= DAY_MS + 1_000;
  const third = await server();
  expect([await handshake(third, fresh), await handshake(third, both)]).toEqual([true, true]);
  expect(await handshake(third, old)).not.toBe(true);
  // The identity tree has no part in it.
  expect(await serving.ca.trustBundle()).toMatchObject({ pins, roots, version: 1 });
  const told = (await caEvents(serving)).filter(({ type }) => type === 'ca.serving-rotated.v1');
  expect(told.map(({ data }) => data['step'])).toEqual(['retire', 'activate', 'prepare']);
});

it('takes no step out of turn, and takes a prepared root back', async () => {
  for (const step of ['activate', 'retire', 'abort'] as const) {
    await expect(go(step)).rejects.toMatchObject({ code: 'CONFLICT' });
  }
  const old = await handedOut();
  await go('prepare');
  await expect(go('prepare')).rejects.toThrow(/prepared already/);
  await go('abort');
  expect(await handedOut()).toBe(old);
  await go('prepare');
  await server();
  await go('activate');
  await expect(go('prepare')).rejects.toThrow(/`retire` comes first/);
  await expect(go('retire', true)).resolves.toMatchObject({ roots: [{ state: 'active' }] });
  const kept: unknown = await serving.database.query(
    `select count(*)::int as count from authorities where state = 'retired' and sealed_key is not null`,
  );
  expect(kept).toEqual([{ count: 0 }]);
});

it('may go on beside a rotation of the identity tree', async () => {
  await serving.rotation.rotate(gatewayA, { step: 'prepare', force: false });
  await go('prepare');
  await serving.rotation.rotate(gatewayA, { step: 'activate', force: true });
  await go('activate');
  await serving.rotation.rotate(gatewayA, { step: 'retire', force: true });
  await expect(go('retire')).resolves.toMatchObject({ roots: [{ state: 'active' }] });
  await expect(serving.rotation.status()).resolves.toMatchObject({ rotation: null, trustVersion: 4 });
});
