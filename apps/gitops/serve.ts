import { readFileSync } from 'node:fs';
import { splitHostPort, untilAborted } from '@fairlead/config';
import type { Caller } from '@fairlead/contracts';
import { OutboxRelay, Projection, recordForgedRequest } from '@fairlead/events';
import {
  GITOPS_BUCKETS,
  GITOPS_ENTITIES,
  GITOPS_MIGRATIONS,
  GitopsModule,
  startGitops,
  type GitopsOptions,
  type Runtime,
  type StartedGitops,
} from '@fairlead/gitops';
import { connectNats, connectionState, serveRpc, type ConnectNatsOptions } from '@fairlead/messaging';
import { Counter, Registry, startHealthServer, type Check, type Logger } from '@fairlead/observability';
import { DatabaseMonitor, connectDatabase, createDatabase, runMigrations } from '@fairlead/persistence';
import type { Config } from './config.js';

const ROLE = 'gitops';

/** Runs what is missing of the schema. */
export async function migrate(config: Config, logger: Logger, signal: AbortSignal): Promise<void> {
  const database = openDatabase(config, logger);
  await connectDatabase(database, logger, signal);
  try {
    await runMigrations(database, logger, signal);
  } finally {
    await database.destroy();
  }
}

/** Serves until the signal; waits, visibly, for whatever is away at first. */
export async function serve(config: Config, logger: Logger, signal: AbortSignal): Promise<void> {
  const options = optionsOf(config);
  await using stack = new AsyncDisposableStack();
  const checks: (() => readonly Check[])[] = [];
  const registry = new Registry();
  const readiness = (): readonly Check[] => checks.flatMap((check) => check());
  stack.use(await startHealthServer({ ...splitHostPort(config.FAIRLEAD_HEALTH_LISTEN), readiness, registry }));
  let projection: Projection | undefined;
  let started: StartedGitops | undefined;
  checks.push(() => [
    { name: 'projection', ok: projection?.synced === true },
    { name: 'buckets', ok: started?.loaded === true },
  ]);

  const source: Caller = { role: ROLE, credential: config.FAIRLEAD_CREDENTIAL };
  // Refuses a URL that nobody could connect with safely, before anything is waited for.
  const database = openDatabase(config, logger);
  const nats = stack.adopt(await connectNats({ ...natsOf(config), ...source, logger, signal }), (nc) => nc.close());
  checks.push(() => [{ name: 'nats', ok: connectionState(nats).connected }]);
  await connectDatabase(database, logger, signal);
  stack.defer(() => database.destroy());
  const monitor = stack.use(new DatabaseMonitor(database, logger));
  checks.push(() => monitor.checks());
  await monitor.untilMigrated(signal);

  const relay = stack.use(new OutboxRelay({ database, nats, logger }));
  projection = stack.use(new Projection({ database, nats, logger, buckets: GITOPS_BUCKETS }));
  const onCommitted = (): void => relay.poke();
  const onDesired = (): void => projection?.poke();
  const failures = new Counter({
    name: 'fairlead_gitops_failures_total',
    help: 'Turns of a rollout, of a breaker, of a cluster or of its signature that failed and are tried again',
    labelNames: ['part'],
    registers: [registry],
  });
  const onFailed: Runtime['onFailed'] = (part) => failures.inc({ part });
  const runtime: Runtime = { database, source, logger, onCommitted, onDesired, onFailed, now: () => new Date() };
  started = stack.use(startGitops(runtime, nats, options));
  const onForged = (subject: string): void => recordForgedRequest({ database, source, logger, relay }, subject);
  const module = GitopsModule.around(started.parts);
  stack.use(await serveRpc(module, { connection: nats, queue: ROLE, logger, registry, onForged }));
  logger.info('process.ready');
  await untilAborted(signal);
  logger.info('process.stopping');
}

function optionsOf(config: Config): GitopsOptions {
  const caFile = config.FAIRLEAD_BUNDLE_CA_FILE;
  return {
    fetch: {
      privateAddresses: config.FAIRLEAD_BUNDLE_PRIVATE_ADDRESSES,
      ca: caFile === undefined ? undefined : readFileSync(caFile, 'utf8'),
    },
    health: {
      silenceMs: config.FAIRLEAD_REPORT_SILENCE_SECONDS * 1_000,
      graceMs: config.FAIRLEAD_PROGRESS_SECONDS * 1_000,
    },
    breaker: {
      minClusters: config.FAIRLEAD_BREAKER_CLUSTERS,
      share: config.FAIRLEAD_BREAKER_SHARE,
      windowMs: config.FAIRLEAD_BREAKER_WINDOW_SECONDS * 1_000,
      holdRepairsMs: config.FAIRLEAD_BREAKER_HOLD_SECONDS * 1_000,
    },
  };
}

function natsOf(config: Config): Omit<ConnectNatsOptions, 'role' | 'credential' | 'logger'> {
  return {
    url: config.FAIRLEAD_NATS_URL,
    seedFile: config.FAIRLEAD_NATS_SEED_FILE,
    caFile: config.FAIRLEAD_NATS_CA_FILE,
    insecurePlaintext: config.FAIRLEAD_INSECURE_PLAINTEXT,
  };
}

function openDatabase(config: Config, logger: Logger): ReturnType<typeof createDatabase> {
  return createDatabase({
    url: config.FAIRLEAD_DATABASE_URL_FILE.reveal(),
    caFile: config.FAIRLEAD_DATABASE_CA_FILE,
    insecurePlaintext: config.FAIRLEAD_INSECURE_PLAINTEXT,
    service: ROLE,
    entities: GITOPS_ENTITIES,
    migrations: GITOPS_MIGRATIONS,
    logger,
  });
}
