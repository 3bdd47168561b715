import { systemClock } from '@fairlead/clock';
import type { Logger } from '@fairlead/observability';
import type { DataSource } from 'typeorm';

const LOCK = "hashtextextended(current_schema() || ':migrations', 0)";
const RETRY_MS = 500;

/**
 * Runs what is missing, in order, each in a transaction of its own, while holding a lock: two jobs at once do the work
 * once. Returns the names of what it ran.
 */
export async function runMigrations(database: DataSource, logger: Logger, signal?: AbortSignal): Promise<string[]> {
  const holder = database.createQueryRunner();
  try {
    while (!(await tryLock(holder))) {
      logger.info('migrations.waiting', { reason: 'another process is migrating' });
      await systemClock.sleep(RETRY_MS, signal);
    }
    const done = await database.runMigrations({ transaction: 'each' });
    const names = done.map((migration) => migration.name);
    logger.info('migrations.done', { ran: names });
    return names;
  } finally {
    await holder.query(`select pg_advisory_unlock(${LOCK})`).catch(() => undefined);
    await holder.release();
  }
}

/**
 * Are there migrations that the schema does not have yet? TypeORM would make its table to answer that, and whoever migrates at that
 * moment would find it half made: while there is none, all are.
 */
export async function migrationsPending(database: DataSource): Promise<boolean> {
  const [row] = (await database.query(`select to_regclass('migrations') is not null as made`)) as { made: boolean }[];
  return row?.made !== true || database.showMigrations();
}

async function tryLock(holder: ReturnType<DataSource['createQueryRunner']>): Promise<boolean> {
  const rows = (await holder.query(`select pg_try_advisory_lock(${LOCK}) as locked`)) as { locked: boolean }[];
  return rows[0]?.locked === true;
}
