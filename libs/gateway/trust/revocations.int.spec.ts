import { BUCKETS, revocationKeys, type RevocationEntry } from '@fairlead/contracts';
import { deleteKv, putKv } from '@fairlead/messaging';
import { startSecuredNats, type SecuredNats } from '@fairlead/messaging/testing';
import { silentLogger } from '@fairlead/observability';
import type { PeerCertificate } from '@fairlead/pki';
import { eventually, scratchDir, type ScratchDir } from '@fairlead/testing';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Revocations } from './revocations.js';

const clusterId = '5bd1f0f0-35c6-4a6c-9f58-6d7f6f1c2a11';
const hourMs = 3_600_000;

let scratch: ScratchDir;
let nats: SecuredNats;
let keys: NatsConnection;
let revocations: Revocations;

beforeAll(async () => {
  scratch = await scratchDir();
  nats = await startSecuredNats(scratch.path);
  keys = await nats.connect({ role: 'keys', credential: 'keys' });
  revocations = new Revocations(await nats.connect({ role: 'gateway', credential: 'gateway-a' }), silentLogger);
  await revocations.snapshot.loaded;
});
afterAll(async () => {
  await revocations?.snapshot.close();
  await nats?.[Symbol.asyncDispose]();
  await scratch?.[Symbol.asyncDispose]();
});

const put = (key: string, entry: RevocationEntry): Promise<void> => putKv(keys, BUCKETS.revocations, key, entry);
const count = (n: number): Promise<void> => put(revocationKeys.state, { kind: 'state', count: n });
const generation = (throughGeneration: number): Promise<void> =>
  put(revocationKeys.cluster(clusterId), { kind: 'generation', clusterId, throughGeneration });

function certificate(serial: string, ofGeneration: number): PeerCertificate {
  const [notBefore, notAfter] = [new Date(0), new Date(Date.now() + hourMs)];
  const id = { kind: 'agent', trustDomain: 'fairlead.local', clusterId } as const;
  return { id, serial, generation: ofGeneration, trustVersion: 0, notBefore, notAfter, spkiSha256: '' };
}

it('is loaded once all is there that was counted, and not before anything was', async () => {
  expect(revocations.loaded).toBe(false);
  await count(1);
  await eventually(() => expect(revocations.snapshot.get(revocationKeys.state)).toBeDefined());
  expect(revocations.loaded).toBe(false);
  await generation(3);
  await eventually(() => expect(revocations.loaded).toBe(true));
});

it('knows enrolments up to a generation, of that cluster, and takes nothing back', async () => {
  expect([2, 3, 4].map((each) => revocations.has(certificate('aa', each)))).toEqual([true, true, false]);
  const gateway = { ...certificate('aa', 0), id: { kind: 'gateway', trustDomain: 'x', name: clusterId } as const };
  expect(revocations.has(gateway)).toBe(false);
  await generation(1);
  await eventually(() => {
    expect(revocations.snapshot.get(revocationKeys.cluster(clusterId))).toMatchObject({ throughGeneration: 1 });
  });
  expect(revocations.has(certificate('aa', 3))).toBe(true);
});

it('knows a certificate that has ended, for links that stand on it, as long as its entry says', async () => {
  let told = 0;
  revocations.onChange(() => (told += 1));
  const ended = { ...certificate('cc', 9), notAfter: new Date(Date.now() - 26 * hourMs) };
  const knownUntil = new Date(Date.now() + 30 * 24 * hourMs).toISOString();
  await put(revocationKeys.certificate('cc'), { kind: 'certificate', serial: 'cc', notAfter: knownUntil });
  await eventually(() => expect(told).toBe(1));
  await put(revocationKeys.certificate('dd'), { kind: 'certificate', serial: 'dd', notAfter: knownUntil });
  await eventually(() => expect(told).toBe(2));
  expect(revocations.has(ended)).toBe(true);
});

it('remembers a certificate though the bucket forgets it, and tells listeners of it once', async () => {
  let told = 0;
  revocations.onChange(() => (told += 1));
  const notAfter = new Date(Date.now() + hourMs).toISOString();
  await put(revocationKeys.certificate('bb'), { kind: 'certificate', serial: 'bb', notAfter });
  await eventually(() => expect(revocations.has(certificate('bb', 9))).toBe(true));
  await deleteKv(keys, BUCKETS.revocations, revocationKeys.certificate('bb'));
  await deleteKv(keys, BUCKETS.revocations, revocationKeys.state);
  await eventually(() => expect(revocations.snapshot.get(revocationKeys.certificate('bb'))).toBeUndefined());
  expect([revocations.has(certificate('bb', 9)), revocations.loaded, told]).toEqual([true, true, 1]);
  expect(() => revocations.assertNone(certificate('bb', 9))).toThrow(
    expect.objectContaining({ code: 'CERTIFICATE_REVOKED' }),
  );
});
