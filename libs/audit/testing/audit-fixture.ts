import { randomBytes, randomUUID } from 'node:crypto';
import {
  BUCKETS,
  DEFAULT_TENANT,
  auditRpc,
  auditSubject,
  routeKeys,
  type AuditEntry,
  type AuditFilter,
  type GatewayHeartbeat,
} from '@fairlead/contracts';
import { createEvent, type OutgoingEvent } from '@fairlead/events';
import { AUDIT_STREAM, createRpcClient, putKv, serveRpc, type Holder, type RpcClient } from '@fairlead/messaging';
import { gatewayA, operator, startSecuredNats, type SecuredNats } from '@fairlead/messaging/testing';
import { silentLogger } from '@fairlead/observability';
import { emptyTables, serviceDatabase, type ServiceDatabase } from '@fairlead/persistence/testing';
import { startPostgres, type PostgresInfo, type Running } from '@fairlead/testbed';
import { AddressRanges, OutboundPosts } from '@fairlead/outbound';
import { scratchDir } from '@fairlead/testing';
import { jetstream, jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import type { DataSource } from 'typeorm';
import {
  AUDIT_ENTITIES,
  AUDIT_MIGRATIONS,
  appendToTree,
  countNothing,
  meterNothing,
  startAudit,
  type AuditOptions,
  type Runtime,
} from '../index.js';

const source = { role: 'audit', credential: 'audit' } as const;
const api = { role: 'api', credential: 'api' } as const;

/** Tables of what was recorded. */
const RECORDED = [
  'producers',
  'gaps',
  'inbox',
  'open_intents',
  'entries',
  'tenant_logs',
  'segments',
  'audit_trees',
  'audit_tiles',
];
const OPTIONS: AuditOptions = {
  webhooks: {
    posts: new OutboundPosts({ rules: { allowed: AddressRanges.NONE, what: 'the URL of the webhook' } }),
    meter: meterNothing,
  },
  retentionDays: 400,
  gapGraceMs: 1_000,
  gatewaySilenceMs: 1_000,
  lookEveryMs: 100,
  witnesses: [],
};

/** The audit service in this process, on a real Postgres and nats-server. */
export interface AuditFixture extends AsyncDisposable {
  readonly postgres: Running<PostgresInfo>;
  readonly nats: SecuredNats;
  readonly database: DataSource;
  /** Of the service's own role. */
  readonly databaseUrl: string;
  readonly asApi: RpcClient;
  /** Forgets what was recorded. */
  empty(): Promise<void>;
  /** One more process of the service, until it is disposed of. */
  start(options?: Partial<AuditOptions>, runtime?: Partial<Runtime>): Promise<AsyncDisposable>;
  /** As the spool of a gateway does it; each time under another message id. */
  publish(
    batch: { epoch: string; firstSeq: number; records: readonly unknown[]; ends?: true },
    as?: Holder,
  ): Promise<void>;
  publishEvent(event: OutgoingEvent, as?: Holder): Promise<void>;
  /** Whatever the bytes, on a subject of one's own. */
  publishBytes(subject: string, bytes: string, as?: Holder): Promise<void>;
  beat(holder: Holder, beat: number, startedAt: Date, instance: string): Promise<void>;
  /** To take consumers away. */
  consumersAsOperator(): Promise<JetStreamManager['consumers']>;
  /** Messages of the stream that nobody has acknowledged. */
  waiting(): Promise<number>;
  /** Oldest first. */
  all(filter?: AuditFilter, tenantId?: string): Promise<AuditEntry[]>;
}

export async function auditFixture(): Promise<AuditFixture> {
  await using stack = new AsyncDisposableStack();
  const scratch = stack.use(await scratchDir());
  const postgres = stack.use(
    await startPostgres({ dataDir: scratch.file('pg'), durable: false, log: () => undefined }),
  );
  const nats = stack.use(await startSecuredNats(scratch.path));
  const schema = { service: 'audit', entities: AUDIT_ENTITIES, migrations: AUDIT_MIGRATIONS };
  const databases = stack.use(await serviceDatabase(postgres.info.adminUrl, schema));
  const database = await databases.migrated();
  const connections = new Map<string, NatsConnection>();
  const as = async (holder: Holder): Promise<NatsConnection> => {
    const known = connections.get(holder.credential);
    if (known) return known;
    const connection = await nats.connect(holder);
    connections.set(holder.credential, connection);
    return connection;
  };
  const asApi = createRpcClient(await as(api), api);
  const owned = stack.move();
  return {
    postgres,
    nats,
    database,
    databaseUrl: databases.url,
    asApi,
    empty: () => emptyTables(database, ...RECORDED),
    start: (options = {}, changed = {}) => startProcess(nats, databases, options, changed),
    publish: async (batch, holder = gatewayA) => publishNew(await as(holder), auditSubject(holder.credential), batch),
    publishEvent: async ({ subject, body }, holder = gatewayA) => publishNew(await as(holder), subject, body),
    publishBytes: async (subject, bytes, holder = gatewayA) => publishNew(await as(holder), subject, bytes),
    beat: async (holder, beat, startedAt, instance) => {
      const value = heartbeat(holder.credential, beat, startedAt, instance);
      await putKv(await as(holder), BUCKETS.routes, routeKeys.gateway(holder.credential, instance), value);
    },
    consumersAsOperator: async () => (await jetstreamManager(await as(operator))).consumers,
    waiting: async () => {
      const manager = await jetstreamManager(await as(operator));
      return (await manager.streams.info(AUDIT_STREAM)).state.messages;
    },
    all: (filter = {}, tenantId = DEFAULT_TENANT) => readAll(asApi, filter, tenantId),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function startProcess(
  nats: SecuredNats,
  databases: ServiceDatabase,
  options: Partial<AuditOptions>,
  changed: Partial<Runtime>,
): Promise<AsyncDisposable> {
  const stack = new AsyncDisposableStack();
  const database = await databases.connect();
  stack.defer(() => database.destroy());
  const connection = await nats.connect(source);
  stack.defer(() => connection.close());
  const runtime: Runtime = {
    database,
    source,
    logger: silentLogger,
    onCommitted: () => undefined,
    rpc: createRpcClient(connection, source),
    appendToLog: appendToTree,
    counts: countNothing,
    now: () => new Date(),
    ...changed,
  };
  const started = stack.use(await startAudit(runtime, connection, { ...OPTIONS, ...options }));
  stack.use(await serveRpc(started.module, { connection, queue: 'audit', logger: silentLogger }));
  return stack;
}

async function publishNew(nc: NatsConnection, subject: string, said: unknown): Promise<void> {
  // JetStream itself drops what has the id of a message of the last two minutes: these are to come as if they were older.
  const once = headers();
  once.set('Nats-Msg-Id', randomUUID());
  const body = typeof said === 'string' ? said : JSON.stringify(said);
  await jetstream(nc).publish(subject, body, { headers: once });
}

async function readAll(asApi: RpcClient, filter: AuditFilter, tenantId: string): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = [];
  for (let after = 0; ;) {
    const page = await asApi.call(auditRpc.read, tenantId, { ...filter, after, limit: 200 });
    entries.push(...page.entries);
    if (page.next >= page.size) return entries;
    after = page.next;
  }
}

function heartbeat(credential: string, beat: number, startedAt: Date, instance: string): GatewayHeartbeat {
  return {
    credential,
    instance,
    startedAt: startedAt.toISOString(),
    relayAddress: '127.0.0.1:1',
    zone: '',
    inFlight: 0,
    draining: false,
    trustVersion: 0,
    beat,
  };
}

export const newEpoch = (): string => randomBytes(16).toString('hex');

export function disconnected(id?: string): OutgoingEvent {
  const data = {
    tenantId: DEFAULT_TENANT,
    subject: `cluster/${randomUUID()}`,
    actor: { kind: 'gateway' as const, id: 'gateway-a' },
    reason: 'OK',
    clusterId: randomUUID(),
    generation: 1,
    sessionId: randomUUID(),
    gateway: 'gateway-a',
    durationMs: 1,
  };
  return createEvent(gatewayA, 'dev.fairlead.agent.disconnected.v1', data, new Date(), id);
}
