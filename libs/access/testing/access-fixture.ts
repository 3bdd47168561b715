import { TenantQuotas } from '@fairlead/contracts';
import { Envelope } from '@fairlead/events';
import { serviceDatabase } from '@fairlead/persistence/testing';
import { startPostgres } from '@fairlead/testbed';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import type { DataSource } from 'typeorm';
import type { QuotasOf } from '../feature/tenant-quotas.js';
import { ACCESS_ENTITIES, ACCESS_MIGRATIONS } from '../index.js';

/** How long logins last where nothing is shown of that. */
export const LOGIN_LIVES = { loginSeconds: 1_800, sessionSeconds: 604_800 };

/** Of tenants without any. */
export const noQuotas: QuotasOf = () => Promise.resolve(TenantQuotas.parse({}));

/** A Postgres with the schema of the access service, for one file of tests, and a folder. */
export interface AccessDatabase extends AsyncDisposable {
  readonly scratch: ScratchDir;
  readonly database: DataSource;
}

export async function accessDatabase(): Promise<AccessDatabase> {
  await using stack = new AsyncDisposableStack();
  const scratch = stack.use(await scratchDir());
  const postgres = stack.use(
    await startPostgres({ dataDir: scratch.file('pg'), durable: false, log: () => undefined }),
  );
  const schema = { service: 'access', entities: ACCESS_ENTITIES, migrations: ACCESS_MIGRATIONS };
  const database = await stack.use(await serviceDatabase(postgres.info.adminUrl, schema)).migrated();
  const owned = stack.move();
  return { scratch, database, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Newest first. */
export async function lastEvents(database: DataSource, limit: number): Promise<Envelope[]> {
  const sql = 'select body from outbox order by id desc limit $1';
  const rows = (await database.query(sql, [limit])) as { body: string }[];
  return rows.map(({ body }) => Envelope.parse(JSON.parse(body)));
}
