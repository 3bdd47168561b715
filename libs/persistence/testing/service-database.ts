import { randomBytes } from 'node:crypto';
import { silentLogger } from '@fairlead/observability';
import type { DataSource } from 'typeorm';
import { connectDatabase, createDatabase, type DatabaseOptions } from '../database.js';
import { runMigrations } from '../migrations.js';
import { databaseUrl, provisionDatabase } from '../provision-database.js';

/** Many who ask at once open many connections, and wait for one another on a busy machine. */
const CONNECT_TIMEOUT_MS = 30_000;

export type ServiceSchema = Pick<DatabaseOptions, 'service' | 'entities' | 'migrations'>;

/** The schema of one service in a Postgres of a test, and an account for it. Its connections end with it. */
export interface ServiceDatabase extends AsyncDisposable {
  /** With the password. */
  readonly url: string;
  /** One more pool of connections; nothing is migrated. */
  readonly connect: () => Promise<DataSource>;
  /** The same, after these migrations; by default all. */
  readonly migrated: (migrations?: ServiceSchema['migrations']) => Promise<DataSource>;
}

/** `adminUrl`: of who may make roles and schemas. */
export async function serviceDatabase(adminUrl: string, schema: ServiceSchema): Promise<ServiceDatabase> {
  const account = { service: schema.service, password: randomBytes(16).toString('hex') };
  await provisionDatabase(adminUrl, { services: [account] });
  const url = databaseUrl(adminUrl, account);
  const opened: DataSource[] = [];
  const connect = async (migrations = schema.migrations): Promise<DataSource> => {
    const database = createDatabase({ ...schema, migrations, url, logger: silentLogger });
    database.setOptions({ connectTimeoutMS: CONNECT_TIMEOUT_MS });
    await connectDatabase(database, silentLogger);
    opened.push(database);
    return database;
  };
  return {
    url,
    connect: () => connect(),
    migrated: async (migrations) => {
      const database = await connect(migrations);
      await runMigrations(database, silentLogger);
      return database;
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(opened.filter(({ isInitialized }) => isInitialized).map((database) => database.destroy()));
    },
  };
}
