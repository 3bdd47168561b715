import { Facts } from '@fairlead/contracts';
import { Envelope } from '@fairlead/events';
import { serviceDatabase } from '@fairlead/persistence/testing';
import { createCsr, generatePrivateKey, parseToken } from '@fairlead/pki';
import { startPostgres, type PostgresInfo, type Running } from '@fairlead/testbed';
import { scratchDir, testTrustBundle, type ScratchDir, type TestAuthority } from '@fairlead/testing';
import type { DataSource } from 'typeorm';
import { parseAllDocuments } from 'yaml';
import {
  REGISTRATION_ENTITIES,
  REGISTRATION_MIGRATIONS,
  type ImportLinks,
  type ImportLinksOptions,
  type PresenceOf,
  type SignAgent,
} from '../index.js';

export const source = { role: 'registration', credential: 'registration' } as const;
export const api = { role: 'api', credential: 'api' } as const;
export const gateway = { role: 'gateway', credential: 'gateway-a' } as const;
export const facts = Facts.parse({ agentVersion: '0.1.0', kubernetesVersion: 'v1.34.4', platform: 'linux/amd64' });
export const neverSeen: PresenceOf = () => ({
  state: 'never',
  replicas: [],
  since: null,
  agents: [],
  liveReplicas: 0,
  duplicate: null,
});

/** A Postgres for one file of tests, and a folder. */
export interface RegistrationFixture extends AsyncDisposable {
  readonly scratch: ScratchDir;
  readonly postgres: Running<PostgresInfo>;
  /** Connected, with these migrations; by default all. */
  open(migrations?: typeof REGISTRATION_MIGRATIONS): Promise<DataSource>;
}

export async function registrationFixture(): Promise<RegistrationFixture> {
  await using stack = new AsyncDisposableStack();
  const scratch = stack.use(await scratchDir());
  const postgres = stack.use(
    await startPostgres({ dataDir: scratch.file('pg'), durable: false, log: () => undefined }),
  );
  const schema = { service: 'registration', entities: REGISTRATION_ENTITIES, migrations: REGISTRATION_MIGRATIONS };
  const { migrated } = stack.use(await serviceDatabase(postgres.info.adminUrl, schema));
  const owned = stack.move();
  return { scratch, postgres, open: migrated, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

export function linkOptions(authority: TestAuthority): ImportLinksOptions {
  return {
    endpoints: ['127.0.0.1:7443'],
    image: 'fairlead/agent:test',
    installerImage: 'fairlead/installer:test',
    linkTtlSeconds: 600,
    tokenTtlSeconds: 3_600,
    trustBundle: () => testTrustBundle(authority),
  };
}

/** Stands for the keys service. */
export function signerOf(authority: TestAuthority): SignAgent {
  return async (_tenant, { clusterId, generation }) => {
    const { chain, serial } = await authority.agent(clusterId, { generation });
    const notAfter = new Date().toISOString();
    return { chain: [...chain], roots: [...authority.roots], serial, notAfter, trustVersion: 0 };
  };
}

export async function newCsr(): Promise<string> {
  return Buffer.from(await createCsr(await generatePrivateKey())).toString('base64');
}

/** A new bootstrap token of the cluster, as an agent shows it. */
export async function mint(links: ImportLinks, name: string): Promise<{ tokenId: string; secret: string }> {
  const { code } = await links.create(api, 'default', name);
  const { id, secret } = tokenIn(await links.redeem(api, code));
  return { tokenId: id, secret: Buffer.from(secret).toString('base64') };
}

/** The bootstrap token of an import manifest. */
export function tokenIn(manifest: string): ReturnType<typeof parseToken> {
  const documents = parseAllDocuments(manifest).map((document) => document.toJS() as { data?: { token?: string } });
  const encoded = documents.map(({ data }) => data?.token).find((token) => token !== undefined);
  const text = Buffer.from(encoded ?? '', 'base64').toString();
  return parseToken(text);
}

/** Newest first. */
export async function lastEvents(database: DataSource, limit: number): Promise<Envelope[]> {
  const rows = (await database.query('select body from outbox order by id desc limit $1', [limit])) as {
    body: string;
  }[];
  return rows.map(({ body }) => Envelope.parse(JSON.parse(body)));
}
