import { systemClock } from '@fairlead/clock';
import { runProcess, untilAborted, type ProcessDefinition } from '@fairlead/config';
import { BUCKETS, bucketOf, rowOf, type Caller, type Role } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import {
  KeyedProjection,
  OutboxRelay,
  OutboxRow,
  Projection,
  recordForgedRequest,
  type KeyedBucket,
  type ProjectedBucket,
} from '@fairlead/events';
import { serveRpc } from '@fairlead/messaging';
import { gaugeAtScrape, type Check, type Logger, type Registry } from '@fairlead/observability';
import { DatabaseMonitor, connectDatabase, retryWhileAway } from '@fairlead/persistence';
import { ProcessHost, type NatsConnection } from './process-host.js';
import { migrate, openDatabase, type Database, type ServiceSchema } from './service-schema.js';
import type { ServiceConfig } from './settings.js';

/** A Nest module with `@RpcHandler` methods. */
export type RpcModule = Parameters<typeof serveRpc>[0];

/** A Nest service. Its role names the process, its schema, the queue group of its RPCs and its row in `SERVICES`. */
export interface ServiceDefinition<Config extends ServiceConfig> extends ServiceSchema {
  readonly readConfig: (env: NodeJS.ProcessEnv) => Config;
  /** Called before anything is opened or waited for. Throws INVALID_ARGUMENT for what only a person can put right. */
  readonly prepare: (config: Config) => PreparedService;
  /** What it does besides `migrate` when its first argument names it. */
  readonly commands?: ProcessDefinition<Config>['commands'];
}

export interface PreparedService {
  /** Its own reasons to be ready or not, shown from the first moment on, before those of NATS and the database. */
  readonly readiness?: () => readonly Check[];
  /** Starts its loops on a database that is migrated, and gives what answers its RPCs. */
  readonly start: (host: ServiceHost) => Promise<RpcModule> | RpcModule;
  /** Called once its RPCs are answered. Gives what the line `process.ready` says besides. */
  readonly onServing?: () => Promise<Readonly<Record<string, unknown>>>;
}

/** What a service is given to start with. */
export interface ServiceHost {
  /** This process, as the source of its events and the caller of its RPCs. */
  readonly source: Caller;
  readonly database: Database;
  readonly nats: NatsConnection;
  readonly logger: Logger;
  readonly registry: Registry;
  /** Publishes the outbox. */
  readonly relay: OutboxRelay;
  /** Something was committed: its events and the buckets of `project` follow. */
  readonly onCommitted: () => void;
  /** Keeps `part` until the service ends; what was kept last ends first. */
  use<T extends AsyncDisposable | Disposable>(part: T): T;
  /** Keeps buckets equal to the service's tables, from now until it ends. */
  project(buckets: readonly ProjectedBucket[]): Projection;
  /** The same for a bucket that is too large to be made anew at each change. */
  projectKeys(bucket: KeyedBucket): KeyedProjection;
  /** Does something that the service cannot begin without, again with full jitter while the database is away. */
  retryWhileAway<T>(work: () => Promise<T>): Promise<T>;
}

/** The whole life of a Nest service, as a process: `runProcess` tells its signals and exit codes. */
export function runService<Config extends ServiceConfig>(service: ServiceDefinition<Config>): Promise<void> {
  return runProcess<Config>({
    name: service.role,
    readConfig: service.readConfig,
    run: (config, logger, signal) => serveService(service, config, logger, signal),
    commands: {
      migrate: (config, logger, signal) => migrate(service, config, logger, signal),
      ...service.commands,
    },
  });
}

/** Serves until the signal; waits, visibly, for whatever is away at first. */
async function serveService<Config extends ServiceConfig>(
  service: ServiceDefinition<Config>,
  config: Config,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  checkHasOutbox(service);
  const prepared = service.prepare(config);
  await using processHost = new ProcessHost({ role: service.role, config, logger, signal });
  if (prepared.readiness) processHost.addChecks(prepared.readiness);
  let answersRpcs = false;
  processHost.addChecks(() => [{ name: 'rpc', ok: answersRpcs }]);
  await processHost.serveHealth();
  // Refuses a URL that nobody could connect with safely, before anything is waited for.
  const database = openDatabase(service, config, logger);
  const nats = await processHost.joinNats();
  await joinDatabase(processHost, database);
  const host = serviceHost(processHost, database, nats);
  const module = await prepared.start(host);
  await answerRpcs(processHost, host, module);
  answersRpcs = true;
  logger.info('process.ready', await prepared.onServing?.());
  await untilAborted(signal);
  logger.info('process.stopping');
}

/** Waits until the database answers and its schema is what this version expects. */
async function joinDatabase(processHost: ProcessHost, database: Database): Promise<void> {
  const { logger, signal } = processHost;
  await connectDatabase(database, logger, signal);
  processHost.defer(() => database.destroy());
  const monitor = processHost.use(new DatabaseMonitor(database, logger));
  processHost.addChecks(() => monitor.checks());
  await monitor.untilMigrated(signal);
}

function serviceHost(processHost: ProcessHost, database: Database, nats: NatsConnection): ServiceHost {
  const { source, logger, registry, signal } = processHost;
  const relay = processHost.use(new OutboxRelay({ database, nats, logger }));
  meterOutbox(registry, relay);
  const projections: (Projection | KeyedProjection)[] = [];
  return {
    source,
    database,
    nats,
    logger,
    registry,
    relay,
    onCommitted: () => {
      relay.poke();
      for (const projection of projections) projection.poke();
    },
    use: (part) => processHost.use(part),
    project: (buckets) => {
      checkMayWrite(source.role, buckets);
      const projection = processHost.use(new Projection({ database, nats, logger, buckets }));
      projections.push(projection);
      return projection;
    },
    projectKeys: (bucket) => {
      checkMayWrite(source.role, [bucket]);
      const projection = processHost.use(new KeyedProjection({ database, nats, logger, bucket }));
      projections.push(projection);
      return projection;
    },
    retryWhileAway: (work) => retryWhileAway(work, logger, signal),
  };
}

function meterOutbox(registry: Registry, relay: OutboxRelay): void {
  gaugeAtScrape(
    registry,
    {
      name: 'fairlead_outbox_oldest_seconds',
      help: 'Age of the oldest event that this process has not got into JetStream yet; 0: none waits.',
    },
    (gauge) => {
      const { oldest } = relay;
      gauge.set(oldest === null ? 0 : Math.max(0, systemClock.nowMs() - oldest.getTime()) / 1_000);
    },
  );
}

/** What it tells, of forged requests for one, would be kept nowhere, and nobody would notice. */
function checkHasOutbox({ role, entities }: ServiceSchema): void {
  if (entities.includes(OutboxRow)) return;
  throw new FairleadError(
    'INVALID_ARGUMENT',
    `the entities of ${role} lack OutboxRow of @fairlead/events: add it, and its table (OUTBOX_TABLE_V1) to the first migration`,
  );
}

/** NATS would refuse each value, and the service would wait for ever to be ready. */
function checkMayWrite(role: Role, buckets: readonly Pick<ProjectedBucket, 'bucket'>[]): void {
  const { writes } = rowOf(role).nats;
  const allowed = new Set<string>(writes.map((keys) => BUCKETS[bucketOf(keys)]));
  const refused = buckets.map(({ bucket }) => bucket).filter((bucket) => !allowed.has(bucket));
  if (refused.length === 0) return;
  const where = 'libs/contracts/services.ts';
  throw new FairleadError(
    'INVALID_ARGUMENT',
    `${where} does not let ${role} write ${refused.join(', ')}: add it there`,
  );
}

async function answerRpcs(processHost: ProcessHost, host: ServiceHost, module: RpcModule): Promise<void> {
  const { database, nats, logger, registry, relay, source } = host;
  const onForged = (subject: string): void => recordForgedRequest({ database, source, logger, relay }, subject);
  processHost.use(await serveRpc(module, { connection: nats, queue: source.role, logger, registry, onForged }));
}
