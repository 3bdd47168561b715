import type { Caller, CaRotation, Issued } from '@fairlead/contracts';
import { Envelope } from '@fairlead/events';
import { silentLogger, type Logger } from '@fairlead/observability';
import { emptyTables, serviceDatabase } from '@fairlead/persistence/testing';
import { createCsr, generatePrivateKey, signProof } from '@fairlead/pki';
import { startPostgres } from '@fairlead/testbed';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import {
  CertificateIssuer,
  CurrentCa,
  KEYS_ENTITIES,
  KEYS_MIGRATIONS,
  LinkEndpoints,
  Revocations,
  Rotation,
  masterKeyFrom,
  masterKeyInFile,
  type MasterKey,
} from '../index.js';

/** Tables of what the service keeps. */
const KEPT = [
  'authorities',
  'certificates',
  'revocations',
  'trust_bundles',
  'trust_acknowledgements',
  'git_hosts',
  'signed_states',
  'link_endpoints',
  'statement_revocation_lists',
  'audit_logs',
  'webhook_secrets',
  'outbox',
];
export const source = { role: 'keys', credential: 'keys' } as const;
export const registration = { role: 'registration', credential: 'registration' } as const;
export const api = { role: 'api', credential: 'api' } as const;
export const gatewayA = { role: 'gateway', credential: 'gateway-a' } as const;
export const trustDomain = 'fairlead.local';

/** One process of the keys service, without NATS. */
export interface KeysProcess {
  readonly database: DataSource;
  readonly ca: CurrentCa;
  readonly issuer: CertificateIssuer;
  readonly revocations: Revocations;
  readonly rotation: Rotation;
  readonly endpoints: LinkEndpoints;
}

/** What the processes of a test share: a real Postgres, the time, and the replicas that lag behind. */
export interface KeysFixture extends AsyncDisposable {
  readonly scratch: ScratchDir;
  readonly databaseUrl: string;
  readonly masterKeyFile: string;
  nowMs: number;
  behind: CaRotation['gateways'];
  /** What registration says, of whichever cluster; null: nobody knows. */
  current: number | null;
  onCommitted: () => void;
  /** Of the processes that are started from now on. */
  logger: Logger;
  /** A further process beside those that run; the master key is the file's unless another one is given. */
  start(masterKey?: MasterKey): Promise<KeysProcess>;
  /** Nothing was ever made. To be called while no process is used. */
  reset(): Promise<void>;
  connect(): Promise<DataSource>;
}

/** For a file of tests: one installation for all of them, in which nothing was made before each. `begin`: what each begins with. */
export function keysOfEach(begin: () => Promise<void>): KeysFixture {
  const fixture = {} as KeysFixture;
  beforeAll(async () => void (await keysFixture(fixture)));
  afterAll(() => fixture[Symbol.asyncDispose]?.());
  beforeEach(async () => {
    await fixture.reset();
    await begin();
  });
  return fixture;
}

export async function keysFixture(fixture: KeysFixture = {} as KeysFixture): Promise<KeysFixture> {
  await using stack = new AsyncDisposableStack();
  const scratch = stack.use(await scratchDir());
  const postgres = stack.use(
    await startPostgres({ dataDir: scratch.file('pg'), durable: false, log: () => undefined }),
  );
  const schema = { service: 'keys', entities: KEYS_ENTITIES, migrations: KEYS_MIGRATIONS };
  const { url, connect, migrated } = stack.use(await serviceDatabase(postgres.info.adminUrl, schema));
  const first = await migrated();
  const owned = stack.move();
  const made: KeysFixture = {
    scratch,
    databaseUrl: url,
    masterKeyFile: scratch.file('master.key'),
    nowMs: Date.now(),
    behind: [],
    current: null,
    onCommitted: () => undefined,
    logger: silentLogger,
    connect,
    start: async (masterKey) => startProcess(fixture, await connect(), masterKey),
    reset: async () => {
      await emptyTables(first, ...KEPT);
      Object.assign(fixture, { nowMs: Date.now(), behind: [], current: null, logger: silentLogger });
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
  return Object.assign(fixture, made);
}

async function startProcess(
  fixture: KeysFixture,
  database: DataSource,
  masterKey = masterKeyFrom(masterKeyInFile(fixture.masterKeyFile)),
): Promise<KeysProcess> {
  const now = (): Date => new Date(fixture.nowMs);
  const { logger } = fixture;
  const runtime = { database, source, logger, onCommitted: () => fixture.onCommitted(), now };
  const ca = await CurrentCa.open({ ...runtime, masterKey, trustDomain, leafLifeSeconds: 86_400 });
  return {
    database,
    ca,
    issuer: new CertificateIssuer({
      ...runtime,
      ca,
      servingNames: { api: [], gateway: ['localhost'] },
      currentEnrolment: () => fixture.current,
      clock: { monotonicMs: () => fixture.nowMs },
    }),
    revocations: new Revocations({ ...runtime, ca }),
    rotation: new Rotation({ ...runtime, ca, behind: () => fixture.behind }),
    endpoints: new LinkEndpoints({ ...runtime, ca }),
  };
}

export interface EnrolledAgent {
  readonly clusterId: string;
  readonly key: string;
  readonly chain: string[];
  readonly serial: string;
}

export async function newCsr(): Promise<{ key: string; csr: string }> {
  const key = await generatePrivateKey();
  return { key, csr: Buffer.from(await createCsr(key)).toString('base64') };
}

export async function enrol({ issuer }: KeysProcess, clusterId: string = crypto.randomUUID()): Promise<EnrolledAgent> {
  const { key, csr } = await newCsr();
  const { chain, serial } = await issuer.signAgent(registration, 'default', { clusterId, generation: 1, csr });
  return { clusterId, key, chain, serial };
}

/** As an agent does it; with the key of `next`, if it is to go on with it. */
export async function renew(
  { issuer }: KeysProcess,
  agent: EnrolledAgent,
  next?: { readonly csr: string },
  by: Caller = gatewayA,
): Promise<Issued> {
  const { csr } = next ?? (await newCsr());
  const proof = await signProof(agent.key, Buffer.from(csr, 'base64'));
  return issuer.renewAgent(by, { csr, currentChain: agent.chain, proof: Buffer.from(proof).toString('base64') });
}

/** The newest events of the CA, newest first. */
export async function caEvents({ database }: KeysProcess): Promise<{ type: string; data: Record<string, unknown> }[]> {
  const rows = (await database.query('select body from outbox order by id desc')) as { body: string }[];
  return rows
    .map(({ body }) => Envelope.parse(JSON.parse(body)))
    .filter(({ type }) => type.startsWith('dev.fairlead.ca.'))
    .map(({ type, data }) => ({ type: type.slice('dev.fairlead.'.length), data }));
}
