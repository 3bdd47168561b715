import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { silentLogger } from '@fairlead/observability';
import { serviceDatabase, type ServiceDatabase } from '@fairlead/persistence/testing';
import { createIssuing, createRoot, verifyChain, type Authority } from '@fairlead/pki';
import { startPostgres, type PostgresInfo, type Running } from '@fairlead/testbed';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sealBytes } from '../domain/sealing.js';
import {
  CertificateIssuer,
  CurrentCa,
  KEYS_ENTITIES,
  KEYS_MIGRATIONS,
  Rotation,
  masterKeyFrom,
  masterKeyInFile,
} from '../index.js';
import { gatewayA, newCsr, source, trustDomain } from '../testing/keys-fixture.js';

const year = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 365 * 86_400_000) };
const secretKey = randomBytes(32);

let scratch: ScratchDir;
let postgres: Running<PostgresInfo>;
let databases: ServiceDatabase;

beforeAll(async () => {
  scratch = await scratchDir();
  postgres = await startPostgres({ dataDir: scratch.file('pg'), durable: false, log: () => undefined });
  const schema = { service: 'keys', entities: KEYS_ENTITIES, migrations: KEYS_MIGRATIONS };
  databases = await serviceDatabase(postgres.info.adminUrl, schema);
  await writeFile(scratch.file('master.key'), secretKey.toString('base64'), { mode: 0o600 });
});
afterAll(async () => {
  await databases?.[Symbol.asyncDispose]();
  await postgres?.stop();
  await scratch?.[Symbol.asyncDispose]();
});

const migrated = (count: number): Promise<DataSource> => databases.migrated(KEYS_MIGRATIONS.slice(0, count));

async function insert(database: DataSource, kind: string, { certificatePem, privateKeyPem }: Authority): Promise<void> {
  const id = crypto.randomUUID();
  const sealed = sealBytes(secretKey, Buffer.from(privateKeyPem), `${id}:${kind}`);
  await database.query(
    `insert into authorities (id, tenant_id, kind, certificate_pem, sealed_key, not_after) values ($1, '_', $2, $3, $4, $5)`,
    [id, kind, certificatePem, sealed, year.notAfter],
  );
}

it('takes over a CA from before there were rotations, with what it signed', async () => {
  const before = await migrated(2);
  const roots = new Map<string, string>();
  for (const tree of ['identity', 'serving']) {
    const root = await createRoot({ commonName: `${tree} root`, ...year });
    roots.set(tree, root.certificatePem);
    await insert(before, `${tree}-root`, root);
    await insert(before, `${tree}-issuing`, await createIssuing(root, { commonName: `${tree} issuing`, ...year }));
  }
  for (const purpose of ['agent', 'serving']) {
    await before.query(
      `insert into certificates (serial, tenant_id, purpose, names, spki_sha256, not_before, not_after)
       values ($1, '_', $2, '{}', '', $3, $4)`,
      [randomBytes(16).toString('hex'), purpose, year.notBefore, year.notAfter],
    );
  }
  await before.destroy();

  const database = await migrated(KEYS_MIGRATIONS.length);
  const runtime = { database, source, logger: silentLogger, onCommitted: () => undefined };
  const masterKey = masterKeyFrom(masterKeyInFile(scratch.file('master.key')));
  const ca = await CurrentCa.open({ ...runtime, masterKey, trustDomain, leafLifeSeconds: 86_400 });
  const bundle = await ca.trustBundle();
  expect([bundle.version, bundle.roots, bundle.servingRoot]).toEqual([
    1,
    [roots.get('identity')],
    roots.get('serving'),
  ]);
  const kinds: unknown = await database.query(
    `select purpose, kind, state from certificates join authorities on authorities.id = authority_id order by purpose`,
  );
  expect(kinds).toEqual([
    { purpose: 'agent', kind: 'identity-issuing', state: 'active' },
    { purpose: 'serving', kind: 'serving-issuing', state: 'active' },
  ]);
  const issuer = new CertificateIssuer({ ...runtime, ca, servingNames: { api: [], gateway: [] } });
  const rotation = new Rotation({ ...runtime, ca, behind: () => [] });
  for (const step of ['prepare', 'activate'] as const) await rotation.rotate(gatewayA, { step, force: true });
  const { chain } = await issuer.signGateway(gatewayA, { csr: (await newCsr()).csr });
  const options = { at: new Date(), usage: 'clientAuth', trustDomain } as const;
  await expect(verifyChain(chain, bundle.roots, options)).resolves.toMatchObject({ id: { kind: 'gateway' } });
  await database.destroy();
});
