import 'reflect-metadata';
import { DesiredState, openDesiredState } from '@fairlead/desired-state';
import type { Caller } from '@fairlead/contracts';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { DesiredStateSigner } from './feature/git/desired-state-signer.js';
import { api, keysFixture, trustDomain, type KeysFixture, type KeysProcess } from './testing/keys-fixture.js';

const DAY_MS = 86_400_000;
const caller: Caller = api;

let fixture: KeysFixture;
let keys: KeysProcess;
let signer: DesiredStateSigner;

beforeAll(async () => {
  fixture = await keysFixture();
});
afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await fixture.reset();
  keys = await fixture.start();
  signer = new DesiredStateSigner(keys.database, keys.ca, 86_400);
});

const desired = (changes: Partial<DesiredState> = {}): DesiredState =>
  DesiredState.parse({
    version: 1,
    tenantId: 'default',
    clusterId: crypto.randomUUID(),
    revision: 3,
    issuedAt: new Date(fixture.nowMs).toISOString(),
    gitops: null,
    ...changes,
  });

const encoded = (state: unknown): string => Buffer.from(JSON.stringify(state)).toString('base64');

async function open(
  signed: Awaited<ReturnType<DesiredStateSigner['sign']>>,
  clusterId: string,
  rootsPem: readonly string[],
): Promise<DesiredState> {
  const { document, signerChain, signature } = signed;
  return openDesiredState(
    {
      document: Buffer.from(document, 'base64'),
      signerChainPem: signerChain,
      signature: Buffer.from(signature, 'base64'),
    },
    { rootsPem, trustDomain, clusterId, at: new Date(fixture.nowMs) },
  );
}

const roots = async (): Promise<string[]> => (await keys.ca.trustBundle()).roots;

it('signs a desired state so that its cluster believes it, for as long as it says', async () => {
  const state = desired();
  const signed = await signer.sign('default', encoded(state));
  expect(Date.parse(signed.notAfter) - fixture.nowMs).toBe(DAY_MS);
  await expect(open(signed, state.clusterId, await roots())).resolves.toEqual(state);
  await expect(open(signed, crypto.randomUUID(), await roots())).rejects.toThrow('another cluster');
  fixture.nowMs += DAY_MS + 60_000;
  await expect(open(signed, state.clusterId, await roots())).rejects.toMatchObject({ code: 'CERTIFICATE_REFUSED' });
});

it('signs with a key of its own each time', async () => {
  const [one, two] = await Promise.all([1, 2].map(() => signer.sign('default', encoded(desired()))));
  expect(one?.signerChain[0]).not.toBe(two?.signerChain[0]);
  expect(one?.signerChain[1]).toBe(two?.signerChain[1]);
});

it('refuses what is none, is of another tenant, or too large', async () => {
  await expect(signer.sign('other', encoded(desired()))).rejects.toMatchObject({ code: 'FORBIDDEN' });
  for (const wrong of ['', 'bm90IGpzb24=', encoded({}), encoded({ ...desired(), revision: 0 })]) {
    await expect(signer.sign('default', wrong)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  }
  const large = { ...desired(), padding: 'x'.repeat(36_000) };
  await expect(signer.sign('default', encoded(large))).rejects.toThrow('larger');
});

it('adds nothing to what it was given but what the schema says, and drops what it does not know', async () => {
  const state = desired();
  const signed = await signer.sign('default', encoded({ ...state, unknown: 1 }));
  expect(JSON.parse(Buffer.from(signed.document, 'base64').toString())).toEqual(state);
});

it('is believed all through a rotation by installers that know the old root, the new one, or both', async () => {
  const state = desired();
  const old = await roots();
  const rotate = (step: 'prepare' | 'activate' | 'retire') => keys.rotation.rotate(caller, { step, force: true });
  const before = await signer.sign('default', encoded(state));
  await rotate('prepare');
  await expect(open(await signer.sign('default', encoded(state)), state.clusterId, old)).resolves.toEqual(state);
  await rotate('activate');
  const both = await roots();
  const during = await signer.sign('default', encoded(state));
  expect(during.signerChain).toHaveLength(3);
  for (const held of [old, [both[0]!], both]) {
    await expect(open(during, state.clusterId, held)).resolves.toEqual(state);
  }
  await expect(open(before, state.clusterId, both)).resolves.toEqual(state);
  await rotate('retire');
  await expect(open(during, state.clusterId, await roots())).resolves.toEqual(state);
  // Why it is signed again after half of its life, before agents have renewed: see statement-life.ts.
  await expect(open(before, state.clusterId, await roots())).rejects.toMatchObject({ code: 'CERTIFICATE_REFUSED' });
});
