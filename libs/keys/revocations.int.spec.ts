import 'reflect-metadata';
import { BUCKETS, RevocationEntry, revocationKeys } from '@fairlead/contracts';
import { Projection } from '@fairlead/events';
import { watchBucket, type KvSnapshot } from '@fairlead/messaging';
import { startSecuredNats, type SecuredNats } from '@fairlead/messaging/testing';
import { silentLogger } from '@fairlead/observability';
import { serviceDatabase, type ServiceDatabase } from '@fairlead/persistence/testing';
import { createCsr, generatePrivateKey, signProof } from '@fairlead/pki';
import { startPostgres, type PostgresInfo, type Running } from '@fairlead/testbed';
import { eventually, scratchDir, type ScratchDir } from '@fairlead/testing';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  CertificateIssuer,
  CurrentCa,
  KEYS_BUCKETS,
  KEYS_ENTITIES,
  KEYS_MIGRATIONS,
  Revocations,
  masterKeyFrom,
  masterKeyInFile,
} from './index.js';
import { RevocationRow } from './store/entities.js';

const source = { role: 'keys', credential: 'keys' } as const;
const registration = { role: 'registration', credential: 'registration' } as const;
const api = { role: 'api', credential: 'api' } as const;
const gatewayA = { role: 'gateway', credential: 'gateway-a' } as const;
const reason = 'its key was found in a backup';
const dayMs = 86_400_000;

let scratch: ScratchDir;
let postgres: Running<PostgresInfo>;
let nats: SecuredNats;
let databases: ServiceDatabase;
let database: DataSource;
let issuer: CertificateIssuer;
let revocations: Revocations;
let projection: Projection;
let bucket: KvSnapshot<RevocationEntry>;

beforeAll(async () => {
  scratch = await scratchDir();
  [postgres, nats] = await Promise.all([
    startPostgres({ dataDir: scratch.file('pg'), durable: false, log: () => undefined }),
    startSecuredNats(scratch.file('nats')),
  ]);
  const schema = { service: 'keys', entities: KEYS_ENTITIES, migrations: KEYS_MIGRATIONS };
  databases = await serviceDatabase(postgres.info.adminUrl, schema);
  database = await databases.migrated();
  const trustDomain = 'fairlead.local';
  const onCommitted = (): void => projection?.poke();
  const masterKey = masterKeyFrom(masterKeyInFile(scratch.file('master.key')));
  const runtime = { database, source, logger: silentLogger, onCommitted };
  const ca = await CurrentCa.open({ ...runtime, masterKey, trustDomain, leafLifeSeconds: 86_400 });
  issuer = new CertificateIssuer({ ...runtime, ca, servingNames: { api: [], gateway: [] } });
  revocations = new Revocations({ database, source, ca, onCommitted });
  const connection = await nats.connect(source);
  projection = new Projection({ database, nats: connection, logger: silentLogger, buckets: KEYS_BUCKETS });
  bucket = watchBucket(await nats.connect(gatewayA), BUCKETS.revocations, RevocationEntry);
  await bucket.loaded;
});
afterAll(async () => {
  await bucket?.close();
  await projection?.[Symbol.asyncDispose]();
  await databases?.[Symbol.asyncDispose]();
  await nats?.[Symbol.asyncDispose]();
  await postgres?.stop();
  await scratch?.[Symbol.asyncDispose]();
});

async function enrolled(): Promise<{ clusterId: string; key: string; chain: string[]; serial: string }> {
  const clusterId = crypto.randomUUID();
  const key = await generatePrivateKey();
  const csr = Buffer.from(await createCsr(key)).toString('base64');
  const { chain, serial } = await issuer.signAgent(registration, 'default', { clusterId, generation: 1, csr });
  return { clusterId, key, chain, serial };
}

async function renew({ key, chain }: { key: string; chain: string[] }): Promise<unknown> {
  const der = Buffer.from(await createCsr(await generatePrivateKey()));
  const proof = Buffer.from(await signProof(key, der)).toString('base64');
  return issuer.renewAgent(gatewayA, { csr: der.toString('base64'), currentChain: chain, proof });
}

const known = async (serial: string): Promise<boolean> => database.manager.existsBy(RevocationRow, { serial });

it('tells gateways how much there is to know before anything is revoked', async () => {
  await eventually(() => expect(bucket.get(revocationKeys.state)).toEqual({ kind: 'state', count: 0 }));
});

it('revokes one certificate: it is not renewed, gateways hear of it, and asking again changes nothing', async () => {
  const agent = await enrolled();
  const other = await enrolled();
  const record = await revocations.revokeCertificate(api, 'default', { serial: agent.serial, reason });
  expect(record).toMatchObject({ serial: agent.serial, purpose: 'agent', revokedFor: reason });
  await eventually(() =>
    expect(bucket.get(revocationKeys.certificate(agent.serial))).toMatchObject({ serial: agent.serial }),
  );
  await eventually(() => expect(bucket.get(revocationKeys.state)).toEqual({ kind: 'state', count: 1 }));
  await expect(renew(agent)).rejects.toMatchObject({ code: 'CERTIFICATE_REVOKED' });
  await expect(renew(other)).resolves.toBeDefined();
  const again = await revocations.revokeCertificate(api, 'default', { serial: agent.serial, reason: 'another' });
  expect(again).toEqual(record);
});

it('gives a key no certificate again once one that it had was revoked, though its token is shown again', async () => {
  const { clusterId, key, serial } = await enrolled();
  const request = { clusterId, generation: 1, csr: Buffer.from(await createCsr(key)).toString('base64') };
  // An answer that was lost on its way is asked for again.
  await expect(issuer.signAgent(registration, 'default', request)).resolves.toBeDefined();
  await revocations.revokeCertificate(api, 'default', { serial, reason });
  for (const generation of [1, 2]) {
    const again = issuer.signAgent(registration, 'default', { ...request, generation });
    await expect(again).rejects.toMatchObject({ code: 'CERTIFICATE_REVOKED' });
  }
  const csr = Buffer.from(await createCsr(await generatePrivateKey())).toString('base64');
  await expect(issuer.signAgent(registration, 'default', { ...request, csr })).resolves.toBeDefined();
  await revocations.revokeGenerations('default', { clusterId, throughGeneration: 1, reason });
  const next = issuer.signAgent(registration, 'default', { clusterId, generation: 2, csr });
  await expect(next).rejects.toMatchObject({ code: 'CERTIFICATE_REVOKED' });
});

it('knows only certificates of the tenant that asks', async () => {
  const agent = await enrolled();
  for (const [tenant, serial] of [
    ['other', agent.serial],
    ['default', 'ab'.repeat(16)],
  ] as const) {
    const foreign = revocations.revokeCertificate(api, tenant, { serial, reason });
    await expect(foreign).rejects.toMatchObject({ code: 'NOT_FOUND' });
  }
  expect(await known(agent.serial)).toBe(false);
  expect(await revocations.list({ tenantId: 'other', clusterId: agent.clusterId })).toEqual({ certificates: [] });
});

it('revokes enrolments for good: what they have, and what they would still get, but not the next one', async () => {
  const agent = await enrolled();
  const { clusterId } = agent;
  await revocations.revokeGenerations('default', { clusterId, throughGeneration: 1, reason });
  await eventually(() => expect(bucket.get(revocationKeys.cluster(clusterId))).toMatchObject({ throughGeneration: 1 }));
  await expect(renew(agent)).rejects.toMatchObject({ code: 'CERTIFICATE_REVOKED' });
  const csr = async (): Promise<string> => Buffer.from(await createCsr(await generatePrivateKey())).toString('base64');
  const lost = issuer.signAgent(registration, 'default', { clusterId, generation: 1, csr: await csr() });
  await expect(lost).rejects.toMatchObject({ code: 'CERTIFICATE_REVOKED' });
  // An older request that comes late takes nothing back.
  await revocations.revokeGenerations('default', { clusterId, throughGeneration: 0, reason: 'late' });
  const next = await issuer.signAgent(registration, 'default', { clusterId, generation: 2, csr: await csr() });
  const { certificates } = await revocations.list({ tenantId: 'default', clusterId });
  expect(certificates).toMatchObject([
    { serial: next.serial, generation: 2, revokedAt: null, revokedFor: null },
    { serial: agent.serial, generation: 1, revokedFor: reason },
  ]);
});

/** Everything of the cluster ended, and was revoked if it was, so long ago. */
async function age(clusterId: string, interval: string): Promise<void> {
  await database.query(`update certificates set not_after = now() - $2::interval where cluster_id = $1`, [
    clusterId,
    interval,
  ]);
  await database.query(
    `update revocations set revoked_at = now() - $2::interval
     where cluster_id = $1 or serial in (select serial from certificates where cluster_id = $1)`,
    [clusterId, interval],
  );
  projection.poke();
}

/** What the bucket holds once everything before was written to it. */
async function settled<T>(read: () => T): Promise<T> {
  const { serial } = await enrolled();
  await revocations.revokeCertificate(api, 'default', { serial, reason });
  await eventually(() => expect(bucket.get(revocationKeys.certificate(serial))).toBeDefined());
  await eventually(() => {
    const state = bucket.get(revocationKeys.state);
    expect(state?.kind === 'state' && state.count).toBe([...bucket.entries()].length - 1);
  });
  return read();
}

it('tells gateways of a certificate that has ended: a link or tunnel that stands on it is cut by that', async () => {
  const agent = await enrolled();
  await age(agent.clusterId, '26 hours');
  await revocations.revokeCertificate(api, 'default', { serial: agent.serial, reason });
  const key = revocationKeys.certificate(agent.serial);
  await eventually(() => expect(bucket.get(key)).toBeDefined());
  const entry = bucket.get(key);
  const knownForMs = (entry?.kind === 'certificate' ? Date.parse(entry.notAfter) : 0) - Date.now();
  expect(knownForMs / dayMs).toBeCloseTo(30, 1);
});

it('tells gateways of the enrolments of a cluster that was issued nothing for days, and goes on doing so', async () => {
  const { clusterId } = await enrolled();
  await age(clusterId, '25 hours');
  await revocations.revokeGenerations('default', { clusterId, throughGeneration: 1, reason });
  const key = revocationKeys.cluster(clusterId);
  await eventually(() => expect(bucket.get(key)).toMatchObject({ throughGeneration: 1 }));
  await age(clusterId, '400 days');
  expect(await settled(() => bucket.get(key))).toBeDefined();
});

it('drops a single certificate from the bucket 30 days after it ended, and keeps it revoked', async () => {
  const agent = await enrolled();
  await revocations.revokeCertificate(api, 'default', { serial: agent.serial, reason });
  const key = revocationKeys.certificate(agent.serial);
  await age(agent.clusterId, '29 days 23 hours');
  expect(await settled(() => bucket.get(key))).toBeDefined();
  await age(agent.clusterId, '30 days 1 hour');
  await eventually(() => expect(bucket.get(key)).toBeUndefined());
  expect(await known(agent.serial)).toBe(true);
});

it('drops the enrolments of a cluster that was deleted 30 days after the last of its certificates ended', async () => {
  const { clusterId } = await enrolled();
  await revocations.revokeGenerations('default', { clusterId, throughGeneration: 1, reason });
  // Revoked before: deleting it takes nothing further, and is remembered all the same.
  const deleted = { clusterId, throughGeneration: 1, reason: 'the cluster was deleted', clusterDeleted: true };
  await revocations.revokeGenerations('default', deleted);
  const key = revocationKeys.cluster(clusterId);
  await age(clusterId, '29 days 23 hours');
  expect(await settled(() => bucket.get(key))).toBeDefined();
  await age(clusterId, '30 days 1 hour');
  await eventually(() => expect(bucket.get(key)).toBeUndefined());
  expect(await database.manager.existsBy(RevocationRow, { clusterId })).toBe(true);
});
