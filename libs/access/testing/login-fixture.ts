import { randomBytes } from 'node:crypto';
import { Envelope, OUTBOX_TABLE_V1, OutboxRow } from '@fairlead/events';
import { silentLogger } from '@fairlead/observability';
import { connectDatabase, createDatabase, databaseUrl, provisionDatabase, runMigrations } from '@fairlead/persistence';
import { startPostgres } from '@fairlead/testbed';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import type { DataSource, MigrationInterface, QueryRunner } from 'typeorm';
import * as loginEntities from '../store/login-entities.js';
import { LOGIN_MIGRATIONS } from '../store/login-migrations.js';

class Outbox1796000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of OUTBOX_TABLE_V1) await runner.query(statement);
  }
  async down(): Promise<void> {}
}

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
  const entities = [...Object.values(loginEntities), OutboxRow];
  const migrations = [...LOGIN_MIGRATIONS, Outbox1796000000000];
  const database = createDatabase({ service: account.service, entities, migrations, url, logger: silentLogger });
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
