import type { Service } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import type { Logger } from '@fairlead/observability';
import {
  connectDatabase,
  createDatabase,
  migrationsPending,
  runMigrations,
  type DatabaseOptions,
} from '@fairlead/persistence';
import type { ServiceConfig } from './settings.js';

export type Database = ReturnType<typeof createDatabase>;

/** The schema that a service owns. It is named like the service's role. */
export interface ServiceSchema extends Pick<DatabaseOptions, 'entities' | 'migrations'> {
  readonly role: Service;
}

type DatabaseConfig = Pick<
  ServiceConfig,
  'FAIRLEAD_DATABASE_URL_FILE' | 'FAIRLEAD_DATABASE_CA_FILE' | 'FAIRLEAD_INSECURE_PLAINTEXT'
>;

/** Not connected yet. INVALID_ARGUMENT for a URL that nobody could connect with safely. */
export function openDatabase(schema: ServiceSchema, config: DatabaseConfig, logger: Logger): Database {
  return createDatabase({
    url: config.FAIRLEAD_DATABASE_URL_FILE.reveal(),
    caFile: config.FAIRLEAD_DATABASE_CA_FILE,
    insecurePlaintext: config.FAIRLEAD_INSECURE_PLAINTEXT,
    service: schema.role,
    entities: schema.entities,
    migrations: schema.migrations,
    logger,
  });
}

/** Runs what is missing of the schema. */
export async function migrate(
  schema: ServiceSchema,
  config: DatabaseConfig,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  const database = openDatabase(schema, config, logger);
  await connectedTo(database, logger, signal, () => runMigrations(database, logger, signal));
}

/** For commands that need the schema. INVALID_ARGUMENT where it is not there. */
export async function withDatabase(
  schema: ServiceSchema,
  config: DatabaseConfig,
  logger: Logger,
  signal: AbortSignal,
  work: (database: Database) => Promise<void>,
): Promise<void> {
  const database = openDatabase(schema, config, logger);
  await connectedTo(database, logger, signal, async () => {
    if (await migrationsPending(database)) {
      const command = `fairlead-${schema.role} migrate`;
      throw new FairleadError('INVALID_ARGUMENT', `the database is not migrated: run \`${command}\` first`);
    }
    await work(database);
  });
}

async function connectedTo(
  database: Database,
  logger: Logger,
  signal: AbortSignal,
  work: () => Promise<unknown>,
): Promise<void> {
  await connectDatabase(database, logger, signal);
  try {
    await work();
  } finally {
    await database.destroy();
  }
}
