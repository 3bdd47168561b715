import { createHash } from 'node:crypto';
import { BUCKETS, DEFAULT_TENANT, DesiredEntry, gitopsRpc, type Assignment, type Bundle } from '@fairlead/contracts';
import { openDesiredState, type DesiredState } from '@fairlead/desired-state';
import { OutboxRelay, Projection } from '@fairlead/events';
import {
  createRpcClient,
  deleteKv,
  putKv,
  serveRpc,
  watchBucket,
  type KvSnapshot,
  type RpcClient,
} from '@fairlead/messaging';
import { startSecuredNats, type SecuredNats } from '@fairlead/messaging/testing';
import { silentLogger } from '@fairlead/observability';
import { serviceDatabase, type ServiceDatabase } from '@fairlead/persistence/testing';
import { startPostgres } from '@fairlead/testbed';
import { scratchDir, testAuthority, type TestAuthority } from '@fairlead/testing';
import type { NatsConnection } from '@nats-io/transport-node';
import type { DataSource } from 'typeorm';
import type { z } from 'zod';
import { GITOPS_BUCKETS, GITOPS_ENTITIES, GITOPS_MIGRATIONS, startGitops, type GitopsOptions } from '../index.js';
import { fluxManifest } from './manifests.js';
import { serveScriptedKeys, type KeysScript } from './scripted-keys.js';

const source = { role: 'gitops', credential: 'gitops' } as const;
const api = { role: 'api', credential: 'api' } as const;
const gateway = { role: 'gateway', credential: 'gateway-a' } as const;
const registration = { role: 'registration', credential: 'registration' } as const;
const DEFAULTS = {
  health: { silenceMs: 300_000, graceMs: 600_000 },
  breaker: { minClusters: 5, share: 0.2, windowMs: 600_000, holdRepairsMs: 3_600_000 },
};
export const actor = 'admin@example.com';

/** The gitops service in this process, on a real Postgres and nats-server, with scripted keys. */
export interface GitopsFixture extends AsyncDisposable {
  readonly authority: TestAuthority;
  readonly keys: KeysScript;
  readonly database: DataSource;
  readonly asApi: RpcClient;
  readonly asGateway: RpcClient;
  readonly desired: KvSnapshot<z.infer<typeof DesiredEntry>>;
  /** Added to the time of processes that start. */
  aheadMs: number;
  /** One more process of the service, until it is disposed of. */
  start(): Promise<AsyncDisposable>;
  /** As registration shows it. Returns its id. */
  addCluster(name: string, labels?: Record<string, string>, id?: string): Promise<string>;
  removeCluster(id: string): Promise<void>;
  /** What its installer would act on: verified, as the bucket has it. Undefined: nothing. */
  stateOf(clusterId: string): Promise<DesiredState | undefined>;
  uploadBundle(version: string, yaml?: string): Promise<Bundle>;
  assign(spec: Partial<Assignment> & Pick<Assignment, 'name' | 'selector'>): Promise<Assignment>;
}

export async function gitopsFixture(options: Partial<GitopsOptions> = {}): Promise<GitopsFixture> {
  await using stack = new AsyncDisposableStack();
  const scratch = stack.use(await scratchDir());
  const authority = await testAuthority();
  const postgres = stack.use(
    await startPostgres({ dataDir: scratch.file('pg'), durable: false, log: () => undefined }),
  );
  const nats = stack.use(await startSecuredNats(scratch.path));
  const schema = { service: 'gitops', entities: GITOPS_ENTITIES, migrations: GITOPS_MIGRATIONS };
  const databases = stack.use(await serviceDatabase(postgres.info.adminUrl, schema));
  const database = await databases.migrated();
  const { script: keys } = stack.use(await serveScriptedKeys(nats, authority));
  const asRegistration = await nats.connect(registration);
  const asGatewayNats = await nats.connect(gateway);
  const desired = watchBucket(asGatewayNats, BUCKETS.desired, DesiredEntry);
  stack.defer(() => desired.close());
  const asApi = createRpcClient(await nats.connect(api), api);
  const owned = stack.move();
  const fixture: GitopsFixture = {
    authority,
    keys,
    database,
    asApi,
    asGateway: createRpcClient(asGatewayNats, gateway),
    desired,
    aheadMs: 0,
    start: () => startProcess(fixture, nats, databases, options),
    addCluster: (name, labels, id) => addCluster(asRegistration, name, labels, id),
    removeCluster: (id) => deleteKv(asRegistration, BUCKETS.clusters, `${DEFAULT_TENANT}.${id}`),
    stateOf: (clusterId) => stateOf(fixture, clusterId),
    uploadBundle: (version, yaml = fluxManifest(version)) => upload(asApi, version, Buffer.from(yaml)),
    assign: (spec) =>
      asApi.call(gitopsRpc.putAssignment, DEFAULT_TENANT, {
        tool: 'flux',
        bundleVersion: 'v1',
        repository: null,
        ...spec,
        actor,
      }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
  return fixture;
}

async function startProcess(
  fixture: GitopsFixture,
  nats: SecuredNats,
  databases: ServiceDatabase,
  options: Partial<GitopsOptions>,
): Promise<AsyncDisposable> {
  const stack = new AsyncDisposableStack();
  const database = await databases.connect();
  stack.defer(() => database.destroy());
  const connection = await nats.connect(source);
  stack.defer(() => connection.close());
  const logger = silentLogger;
  const relay = stack.use(new OutboxRelay({ database, nats: connection, logger }));
  const projection = stack.use(new Projection({ database, nats: connection, logger, buckets: GITOPS_BUCKETS }));
  const started = stack.use(
    startGitops(
      {
        database,
        source,
        logger,
        onCommitted: () => relay.poke(),
        onDesired: () => projection.poke(),
        now: () => new Date(Date.now() + fixture.aheadMs),
      },
      connection,
      { fetch: {}, ...DEFAULTS, ...options },
    ),
  );
  stack.use(await serveRpc(started.module, { connection, queue: 'gitops', logger }));
  return stack;
}

async function addCluster(
  nats: NatsConnection,
  name: string,
  labels: Record<string, string> = {},
  clusterId: string = crypto.randomUUID(),
): Promise<string> {
  const entry = { tenantId: DEFAULT_TENANT, clusterId, name, generation: 1, labels };
  await putKv(nats, BUCKETS.clusters, `${DEFAULT_TENANT}.${clusterId}`, entry);
  return clusterId;
}

/** What was verified, by its signature. */
const opened = new WeakMap<object, Promise<DesiredState>>();

async function stateOf({ desired, authority }: GitopsFixture, clusterId: string): Promise<DesiredState | undefined> {
  const entry = desired.get(`${DEFAULT_TENANT}.${clusterId}`);
  if (!entry) return undefined;
  const state = opened.get(entry) ?? openEntry(entry, authority, clusterId);
  opened.set(entry, state);
  return state;
}

async function openEntry(
  entry: z.infer<typeof DesiredEntry>,
  authority: TestAuthority,
  clusterId: string,
): Promise<DesiredState> {
  const { trustDomain, roots: rootsPem } = authority;
  const bytes = (text: string): Uint8Array => Buffer.from(text, 'base64');
  const { document, signature, signerChain: signerChainPem } = entry;
  const signed = { document: bytes(document), signature: bytes(signature), signerChainPem };
  const state = await openDesiredState(signed, { rootsPem, trustDomain, clusterId, at: new Date() });
  if (state.revision !== entry.revision) throw new Error(`the entry is of revision ${entry.revision}`);
  return state;
}

async function upload(client: RpcClient, version: string, yaml: Buffer): Promise<Bundle> {
  const digest = createHash('sha256').update(yaml).digest('hex');
  const begin = { tool: 'flux' as const, version, bytes: yaml.length, digest, origin: 'install.yaml', actor };
  const { uploadId } = await client.call(gitopsRpc.beginBundle, DEFAULT_TENANT, begin);
  for (let offset = 0; offset < yaml.length; offset += 1_000) {
    const piece = yaml.subarray(offset, offset + 1_000).toString('base64');
    await client.call(gitopsRpc.bundlePiece, DEFAULT_TENANT, { uploadId, offset, piece });
  }
  return client.call(gitopsRpc.finishBundle, DEFAULT_TENANT, { uploadId });
}
