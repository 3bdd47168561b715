import { FairleadError } from '@fairlead/errors';
import { KEYS_ENTITIES, KEYS_MIGRATIONS, type CurrentCaOptions } from '@fairlead/keys';
import type { Logger } from '@fairlead/observability';
import { connectDatabase, createDatabase, migrationsPending, runMigrations } from '@fairlead/persistence';
import type { Config } from './config.js';

export const ROLE = 'keys';

export type Database = ReturnType<typeof createDatabase>;

/** Runs what is missing of the schema. */
export async function migrate(config: Config, logger: Logger, signal: AbortSignal): Promise<void> {
  await withConnection(
    config,
    logger,
    signal,
    async (database) => void (await runMigrations(database, logger, signal)),
  );
}

/** For commands that need the schema. INVALID_ARGUMENT where it is not there. */
export function withDatabase(
  config: Config,
  logger: Logger,
  signal: AbortSignal,
  work: (database: Database) => Promise<void>,
): Promise<void> {
  return withConnection(config, logger, signal, async (database) => {
    if (await migrationsPending(database)) {
      throw new FairleadError('INVALID_ARGUMENT', 'the database is not migrated: run `fairlead-keys migrate` first');
    }
    await work(database);
  });
}

/** Not connected yet. INVALID_ARGUMENT for a URL that nobody could connect with safely. */
export function openDatabase(config: Config, logger: Logger): Database {
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

export function caOptions(
  config: Config,
  runtime: Pick<CurrentCaOptions, 'database' | 'logger' | 'onCommitted'>,
): CurrentCaOptions {
  return {
    ...runtime,
    source: { role: ROLE, credential: config.FAIRLEAD_CREDENTIAL },
    masterKeyFile: config.FAIRLEAD_MASTER_KEY_FILE,
    trustDomain: config.FAIRLEAD_TRUST_DOMAIN,
    leafLifeSeconds: config.FAIRLEAD_CERTIFICATE_TTL_SECONDS,
  };
}

async function withConnection(
  config: Config,
  logger: Logger,
  signal: AbortSignal,
  work: (database: Database) => Promise<void>,
): Promise<void> {
  const database = openDatabase(config, logger);
  await connectDatabase(database, logger, signal);
  try {
    await work(database);
  } finally {
    await database.destroy();
  }
}
