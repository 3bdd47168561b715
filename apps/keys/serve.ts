import { splitHostPort, untilAborted } from '@fairlead/config';
import type { Caller } from '@fairlead/contracts';
import { OutboxRelay, Projection, recordForgedRequest } from '@fairlead/events';
import {
  CertificateAuthority,
  CertificateIssuer,
  KEYS_BUCKETS,
  KEYS_ENTITIES,
  KEYS_MIGRATIONS,
  KeysModule,
  Revocations,
  openAuthorities,
} from '@fairlead/keys';
import { connectNats, connectionState, serveRpc, type ConnectNatsOptions } from '@fairlead/messaging';
import { Registry, startHealthServer, type Check, type Logger } from '@fairlead/observability';
import { DatabaseMonitor, connectDatabase, createDatabase, retryWhileAway, runMigrations } from '@fairlead/persistence';
import type { Config } from './config.js';

const ROLE = 'keys';

type Database = ReturnType<typeof createDatabase>;

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
  await using stack = new AsyncDisposableStack();
  const checks: (() => readonly Check[])[] = [];
  const registry = new Registry();
  stack.use(await startHealth(config, registry, () => checks.flatMap((check) => check())));
  let serving = false;
  checks.push(() => [{ name: 'ca', ok: serving, ...(serving ? {} : { detail: 'the CA is not loaded yet' }) }]);

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

  const authority = await loadAuthority(config, database, source, logger, signal);
  const relay = stack.use(new OutboxRelay({ database, nats, logger }));
  const issuer = new CertificateIssuer({
    database,
    authority,
    servingNames: config.FAIRLEAD_SERVING_NAMES,
    recoveryWindowSeconds: config.FAIRLEAD_RECOVERY_WINDOW_SECONDS,
    source,
    logger,
    onCommitted: () => relay.poke(),
  });
  const projection = stack.use(new Projection({ database, nats, logger, buckets: KEYS_BUCKETS }));
  const onCommitted = (): void => {
    relay.poke();
    projection.poke();
  };
  const module = KeysModule.around(issuer, new Revocations({ database, source, onCommitted }));
  const onForged = (subject: string): void => recordForgedRequest({ database, source, logger, relay }, subject);
  stack.use(await serveRpc(module, { connection: nats, queue: ROLE, logger, registry, onForged }));
  serving = true;
  logger.info('process.ready', { pins: authority.trustBundle().pins });
  await untilAborted(signal);
  logger.info('process.stopping');
}

function natsOf(config: Config): Omit<ConnectNatsOptions, 'role' | 'credential' | 'logger'> {
  return {
    url: config.FAIRLEAD_NATS_URL,
    seedFile: config.FAIRLEAD_NATS_SEED_FILE,
    caFile: config.FAIRLEAD_NATS_CA_FILE,
    insecurePlaintext: config.FAIRLEAD_INSECURE_PLAINTEXT,
  };
}

function openDatabase(config: Config, logger: Logger): Database {
  return createDatabase({
    url: config.FAIRLEAD_DATABASE_URL_FILE.reveal(),
    caFile: config.FAIRLEAD_DATABASE_CA_FILE,
    insecurePlaintext: config.FAIRLEAD_INSECURE_PLAINTEXT,
    service: ROLE,
    entities: KEYS_ENTITIES,
    migrations: KEYS_MIGRATIONS,
    logger,
  });
}

async function loadAuthority(
  config: Config,
  database: Database,
  source: Caller,
  logger: Logger,
  signal: AbortSignal,
): Promise<CertificateAuthority> {
  const trustDomain = config.FAIRLEAD_TRUST_DOMAIN;
  const options = { database, masterKeyFile: config.FAIRLEAD_MASTER_KEY_FILE, trustDomain, source };
  const authorities = await retryWhileAway(() => openAuthorities(options), logger, signal);
  return new CertificateAuthority(authorities, trustDomain, config.FAIRLEAD_CERTIFICATE_TTL_SECONDS);
}

function startHealth(
  config: Config,
  registry: Registry,
  readiness: () => readonly Check[],
): ReturnType<typeof startHealthServer> {
  return startHealthServer({ ...splitHostPort(config.FAIRLEAD_HEALTH_LISTEN), readiness, registry });
}
