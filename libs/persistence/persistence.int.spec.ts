import { silentLogger } from '@fairlead/observability';
import { startPostgres, type PostgresInfo, type Running } from '@fairlead/testbed';
import { eventually, scratchDir, type ScratchDir } from '@fairlead/testing';
import type { EntityManager, MigrationInterface, QueryRunner } from 'typeorm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  connectDatabase,
  createDatabase,
  databaseAnswers,
  databaseUrl,
  inTransaction,
  migrationsPending,
  provisionDatabase,
  runMigrations,
} from './index.js';

class First1700000000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('create table things (id int primary key)');
  }
  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

const keys = { service: 'keys', password: 'a\'password;with"quotes--' };
const registration = { service: 'registration', password: 'another-password-of-24-b' };
let scratch: ScratchDir;
let postgres: Running<PostgresInfo>;

beforeAll(async () => {
  scratch = await scratchDir();
  postgres = await startPostgres({ dataDir: scratch.file('pg'), durable: false, log: () => undefined });
});
afterAll(async () => {
  await postgres?.stop();
  await scratch?.[Symbol.asyncDispose]();
});

function open(account: typeof keys, given: { queryTimeoutMs?: number } = {}): ReturnType<typeof createDatabase> {
  return createDatabase({
    ...given,
    url: databaseUrl(postgres.info.adminUrl, account),
    service: account.service,
    entities: [],
    migrations: [First1700000000001],
    logger: silentLogger,
  });
}

it('provisions twice, also at once, and takes a new password', async () => {
  const options = { services: [{ ...keys, password: 'x'.repeat(16) }, registration] };
  await provisionDatabase(postgres.info.adminUrl, options);
  const again = [1, 2].map(() => provisionDatabase(postgres.info.adminUrl, { services: [keys, registration] }));
  await expect(Promise.all(again)).resolves.toHaveLength(2);
});

it('refuses names and passwords that are not plain', async () => {
  for (const service of ['a"; drop', 'Keys', '', 'a.b']) {
    await expect(
      provisionDatabase(postgres.info.adminUrl, { services: [{ service, password: 'x'.repeat(16) }] }),
    ).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  }
  const short = provisionDatabase(postgres.info.adminUrl, { services: [{ service: 'keys', password: 'short' }] });
  await expect(short).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});

it('migrates once when two do it at the same time, into its own schema', async () => {
  const databases = [open(keys), open(keys)];
  await Promise.all(databases.map((database) => connectDatabase(database, silentLogger)));
  expect(await migrationsPending(databases[0]!)).toBe(true);
  // Who asks makes nothing: a process that migrates at that moment would find it half made.
  expect(await databases[0]!.query(`select to_regclass('migrations') as made`)).toEqual([{ made: null }]);
  const ran = await Promise.all(databases.map((database) => runMigrations(database, silentLogger)));
  expect(ran.flat()).toEqual(['First1700000000001']);
  expect(await migrationsPending(databases[1]!)).toBe(false);
  expect(await databases[0]!.query('select count(*)::int as n from keys.things')).toEqual([{ n: 0 }]);
  await Promise.all(databases.map((database) => database.destroy()));
});

it('keeps services out of each other, and out of public', async () => {
  const database = open(registration);
  await connectDatabase(database, silentLogger);
  await expect(database.query('select * from keys.things')).rejects.toThrow(/permission denied/);
  await expect(database.query('create table public.x (id int)')).rejects.toThrow(/permission denied/);
  await database.destroy();
});

it('rolls back what throws, and says nothing was stored when Postgres is killed', async () => {
  const database = open(keys);
  await connectDatabase(database, silentLogger);
  const failing = inTransaction(database, async (manager) => {
    await manager.query('insert into things values (1)');
    throw new RangeError('mine');
  });
  await expect(failing).rejects.toThrow(RangeError);
  const cut = inTransaction(database, async (manager) => {
    await manager.query('insert into things values (2)');
    postgres.kill('SIGKILL');
    await manager.query('select pg_sleep(5)');
  });
  await expect(cut).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  const down = inTransaction(database, (manager) => manager.query('select 1'));
  await expect(down).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(await databaseAnswers(database)).toBe(false);
  await postgres.restart();
  const rows = await eventually(() => inTransaction(database, (manager) => manager.query('select * from things')));
  expect(rows).toEqual([]);
  await database.destroy();
});

it('waits for a database that is away at first', async () => {
  postgres.kill('SIGKILL');
  const database = open(keys);
  const reasons: string[] = [];
  const logger = { ...silentLogger, warn: (event: string) => void reasons.push(event) };
  const connecting = connectDatabase(database, logger);
  await eventually(() => expect(reasons).toContain('database.unreachable'));
  await postgres.restart();
  await connecting;
  await database.destroy();
});

it('gives nobody a connection that is busy still with what it never answered', async () => {
  const database = open(keys, { queryTimeoutMs: 5_000 });
  await connectDatabase(database, silentLogger);
  try {
    const pidIn = async (manager: EntityManager): Promise<number> =>
      (await manager.query('select pg_backend_pid() as pid'))[0].pid;
    let stopped = 0;
    const busy = inTransaction(database, async (manager) => {
      stopped = await pidIn(manager);
      process.kill(stopped, 'SIGSTOP');
      await manager.query('select 1');
    });
    await expect(busy).rejects.toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }));
    expect(stopped).toBeGreaterThan(0);
    // As after a pause of the whole machine: it goes on with what it was asked.
    process.kill(stopped, 'SIGCONT');
    for (let at = 0; at < 3; at += 1) expect(await inTransaction(database, pidIn)).not.toBe(stopped);
  } finally {
    await database.destroy();
  }
});
