import { randomBytes } from 'node:crypto';
import { Envelope } from '@fairlead/events';
import { silentLogger } from '@fairlead/observability';
import { connectDatabase, createDatabase, databaseUrl, provisionDatabase, runMigrations } from '@fairlead/persistence';
import { startPostgres } from '@fairlead/testbed';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import type { DataSource } from 'typeorm';
import { ACCESS_ENTITIES, ACCESS_MIGRATIONS } from '../index.js';

export interface AccessDatabase extends AsyncDisposable {
  readonly scratch: ScratchDir;
  readonly database: DataSource;
}

/** A Postgres with the schema of the access service, for one file of tests, and a folder. */
export async function accessDatabase(): Promise<AccessDatabase> {
  const scratch = await scratchDir();
  const postgres = await startPostgres({ dataDir: scratch.file('pg'), durable: false, log: () => undefined });
  const account = { service: 'access', password: randomBytes(16).toString('hex') };
  await provisionDatabase(postgres.info.adminUrl, { services: [account] });
  const url = databaseUrl(postgres.info.adminUrl, account);
  const schema = { service: account.service, entities: ACCESS_ENTITIES, migrations: ACCESS_MIGRATIONS };
  const database = createDatabase({ ...schema, url, logger: silentLogger });
  await connectDatabase(database, silentLogger);
  await runMigrations(database, silentLogger);
  return {
    scratch,
    database,
    [Symbol.asyncDispose]: async () => {
      await database.destroy();
      await postgres.stop();
      await scratch[Symbol.asyncDispose]();
    },
  };
}

/** Newest first. */
export async function lastEvents(database: DataSource, limit: number): Promise<Envelope[]> {
  const rows = (await database.query('select body from outbox order by id desc limit $1', [limit])) as {
    body: string;
  }[];
  return rows.map(({ body }) => Envelope.parse(JSON.parse(body)));
}
