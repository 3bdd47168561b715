import { BUCKETS, TRUST_KEY, type TrustEntry } from '@fairlead/contracts';
import { deleteKv, putKv } from '@fairlead/messaging';
import { startSecuredNats, type SecuredNats } from '@fairlead/messaging/testing';
import { Registry, silentLogger } from '@fairlead/observability';
import { signTrust } from '@fairlead/pki';
import { eventually, scratchDir, testAuthority, type ScratchDir, type TestAuthority } from '@fairlead/testing';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createGatewayMetrics } from '../status/gateway-metrics.js';
import { TrustStore } from './trust-store.js';

let scratch: ScratchDir;
let nats: SecuredNats;
let keys: NatsConnection;
let gateway: NatsConnection;
let ours: TestAuthority;
let theirs: TestAuthority;
let registry: Registry;
let trust: TrustStore;
let changes: number;

beforeAll(async () => {
  scratch = await scratchDir();
  nats = await startSecuredNats(scratch.path);
  keys = await nats.connect({ role: 'keys', credential: 'keys' });
  gateway = await nats.connect({ role: 'gateway', credential: 'gateway-a' });
  [ours, theirs] = await Promise.all([testAuthority(), testAuthority()]);
  registry = new Registry();
  const first = { rootsPem: ours.roots, trustDomain: ours.trustDomain };
  trust = new TrustStore(gateway, first, createGatewayMetrics(registry), silentLogger);
  trust.onChange(() => (changes += 1));
  await trust.snapshot.loaded;
});
beforeEach(() => {
  changes = 0;
});
afterAll(async () => {
  await trust?.snapshot.close();
  await nats?.[Symbol.asyncDispose]();
  await scratch?.[Symbol.asyncDispose]();
});

interface Change {
  readonly by?: TestAuthority;
  readonly signer?: 'service' | 'gateway' | 'agent';
  readonly name?: string;
  readonly trustDomain?: string;
}

async function entry(version: number, rootsPem: readonly string[], change: Change = {}): Promise<TrustEntry> {
  const { by = ours, signer = 'service', name = 'keys', trustDomain = by.trustDomain } = change;
  const certificate = await by[signer](signer === 'agent' ? crypto.randomUUID() : name);
  const chainPem = certificate.chain.slice(0, -1);
  const signed = await signTrust({ version, trustDomain, rootsPem }, { keyPem: certificate.privateKeyPem, chainPem });
  const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
  const { bundle, signature, signerChainPem } = signed;
  return { version, bundle: base64(bundle), signerChain: [...signerChainPem], signature: base64(signature) };
}

const put = (value: TrustEntry): Promise<void> => putKv(keys, BUCKETS.trust, TRUST_KEY, value);

async function refusals(): Promise<Record<string, number>> {
  const text = await registry.getSingleMetricAsString('fairlead_gateway_trust_refused_total');
  const lines = text.matchAll(/^fairlead_gateway_trust_refused_total\{reason="(\w+)"\} (\d+)$/gm);
  return Object.fromEntries([...lines].map(([, reason, count]) => [reason, Number(count)]));
}

it('has the roots that came with the certificate, and is not loaded, before there is a bundle', async () => {
  expect([trust.loaded, trust.version, trust.held]).toEqual([false, 0, null]);
  expect(trust.rootsPem).toEqual(ours.roots);
  await put(await entry(1, theirs.roots, { by: theirs }));
  await eventually(async () => expect(await refusals()).toEqual({ invalid: 1 }));
  expect([trust.loaded, trust.rootsPem]).toEqual([false, ours.roots]);
  await put(await entry(3, [...ours.roots, ...theirs.roots]));
  await eventually(() => expect(trust.version).toBe(3));
  expect([trust.loaded, changes, trust.rootsPem]).toEqual([true, 1, [...ours.roots, ...theirs.roots]]);
  expect(trust.held?.signed.signerChainPem).toHaveLength(2);
});

it.each<[string, 'invalid' | 'older' | 'conflicting', () => Promise<TrustEntry>]>([
  ['a gateway signed', 'invalid', () => entry(9, theirs.roots, { signer: 'gateway', name: 'keys' })],
  ['an agent signed', 'invalid', () => entry(9, theirs.roots, { signer: 'agent' })],
  ['another service signed', 'invalid', () => entry(9, theirs.roots, { name: 'registration' })],
  ['is of another trust domain', 'invalid', () => entry(9, theirs.roots, { trustDomain: 'elsewhere' })],
  [
    'was changed after it was signed',
    'invalid',
    async () => ({ ...(await entry(9, ours.roots)), bundle: (await entry(9, theirs.roots)).bundle }),
  ],
  ['is far ahead', 'invalid', () => entry(900_000, ours.roots)],
  ['is older', 'older', () => entry(2, ours.roots)],
  ['has the same version and other roots', 'conflicting', () => entry(3, ours.roots)],
])('one that %s changes nothing, and is counted', async (_, reason, make) => {
  const before = (await refusals())[reason] ?? 0;
  await put(await make());
  await eventually(async () => expect((await refusals())[reason]).toBe(before + 1));
  expect([trust.version, changes, trust.rootsPem]).toEqual([3, 0, [...ours.roots, ...theirs.roots]]);
});

it('signed anew, of the same roots, goes on to agents so, and is no change', async () => {
  const anew = await entry(3, [...ours.roots, ...theirs.roots]);
  await put(anew);
  await eventually(() => {
    expect(Buffer.from(trust.held?.signed.signature ?? []).toString('base64')).toBe(anew.signature);
  });
  expect(changes).toBe(0);
});

it('a bucket that loses it changes nothing, and the next root vouches for itself then', async () => {
  await deleteKv(keys, BUCKETS.trust, TRUST_KEY);
  await eventually(() => expect(trust.snapshot.get(TRUST_KEY)).toBeUndefined());
  expect([trust.loaded, trust.version, changes]).toEqual([true, 3, 0]);
  await put(await entry(4, theirs.roots, { by: theirs }));
  await eventually(() => expect([trust.version, trust.rootsPem]).toEqual([4, theirs.roots]));
});

it('takes no bundle that is older than its own certificate, though it holds none yet', async () => {
  const metrics = createGatewayMetrics(new Registry());
  await put(await entry(5, ours.roots));
  const began = { rootsPem: ours.roots, trustDomain: ours.trustDomain, version: 7 };
  const replica = new TrustStore(gateway, began, metrics, silentLogger);
  await replica.snapshot.loaded;
  await eventually(async () => {
    const { values } = await metrics.trustRefused.get();
    expect(values).toContainEqual(expect.objectContaining({ labels: { reason: 'older' }, value: 1 }));
  });
  expect([replica.loaded, replica.rootsPem]).toEqual([false, ours.roots]);
  await put(await entry(900_000, ours.roots));
  await eventually(async () => {
    const { values } = await metrics.trustRefused.get();
    expect(values).toContainEqual(expect.objectContaining({ labels: { reason: 'invalid' }, value: 1 }));
  });
  await put(await entry(7, ours.roots));
  await eventually(() => expect([replica.loaded, replica.version]).toEqual([true, 7]));
  await replica.snapshot.close();
});
