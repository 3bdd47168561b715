import { startPostgres } from '@fairlead/testbed';
import { eventually, scratchDir } from '@fairlead/testing';
import { expect, it } from 'vitest';
import { emptyTables, serviceDatabase } from './index.js';

it('empties tables again after Postgres ended it for a transaction that locks them the other way round', async () => {
  await using stack = new AsyncDisposableStack();
  const scratch = stack.use(await scratchDir());
  const postgres = stack.use(
    await startPostgres({ dataDir: scratch.file('pg'), durable: false, log: () => undefined }),
  );
  const schema = { service: 'keys', entities: [], migrations: [] };
  const database = await stack.use(await serviceDatabase(postgres.info.adminUrl, schema)).connect();
  await database.query('create table first as select 1 as id; create table second as select 1 as id');
  const other = database.createQueryRunner();
  await other.startTransaction();
  await other.query('select * from second');
  const emptied = emptyTables(database, 'first', 'second');
  await eventually(async () => expect(await database.query(WAITING)).toHaveLength(1));
  // Whoever waits longest finds the deadlock.
  await expect(other.query('select * from first')).resolves.toHaveLength(1);
  await other.commitTransaction();
  await other.release();
  await emptied;
  await expect(database.query('select * from first union all select * from second')).resolves.toEqual([]);
}, 60_000);

const WAITING = `select pid from pg_stat_activity where query like 'truncate%' and wait_event_type = 'Lock'`;
