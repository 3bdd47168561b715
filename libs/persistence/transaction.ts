import { FairleadError, messageOf } from '@fairlead/errors';
import { QueryFailedError, type DataSource, type EntityManager } from 'typeorm';

/**
 * Runs `work` in one transaction. Throws what `work` throws; UNAVAILABLE if the database could not be reached or broke off
 * before the commit, so that nothing was stored; INTERNAL if it broke off during the commit, when nobody knows.
 */
export async function inTransaction<T>(database: DataSource, work: (manager: EntityManager) => Promise<T>): Promise<T> {
  if (!database.isInitialized) throw new FairleadError('UNAVAILABLE', 'the database is not connected yet');
  const runner = database.createQueryRunner();
  try {
    const result = await begun(runner, work);
    await runner.commitTransaction().catch((cause: unknown) => {
      throw new FairleadError('INTERNAL', 'the database did not confirm the commit', { cause });
    });
    return result;
  } catch (error) {
    // A connection that is gone has rolled back already; the first error is the one that matters.
    if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined);
    throw error;
  } finally {
    await runner.release();
  }
}

/** Reads without a transaction. Throws UNAVAILABLE if the database is away, and what `work` throws. */
export async function readFrom<T>(database: DataSource, work: (manager: EntityManager) => Promise<T>): Promise<T> {
  if (!database.isInitialized) throw new FairleadError('UNAVAILABLE', 'the database is not connected yet');
  try {
    return await work(database.manager);
  } catch (error) {
    throw toDatabaseError(error);
  }
}

async function begun<T>(
  runner: ReturnType<DataSource['createQueryRunner']>,
  work: (manager: EntityManager) => Promise<T>,
): Promise<T> {
  try {
    await runner.startTransaction();
    return await work(runner.manager);
  } catch (error) {
    throw toDatabaseError(error);
  }
}

/** Holds a lock that all instances of a service share until the transaction ends. */
export async function withAdvisoryLock(manager: EntityManager, name: string): Promise<void> {
  await manager.query('select pg_advisory_xact_lock(hashtextextended(current_schema() || $1, 0))', [`:${name}`]);
}

/** The same if nobody holds it now; false, at once, if somebody does. */
export async function tryAdvisoryLock(manager: EntityManager, name: string): Promise<boolean> {
  const sql = 'select pg_try_advisory_xact_lock(hashtextextended(current_schema() || $1, 0)) as held';
  const [row] = (await manager.query(sql, [`:${name}`])) as { held: boolean }[];
  return row?.held === true;
}

/** Holds such a lock beside others who share it, and keeps out whoever wants it alone, until the transaction ends. */
export async function withSharedAdvisoryLock(manager: EntityManager, name: string): Promise<void> {
  await manager.query('select pg_advisory_xact_lock_shared(hashtextextended(current_schema() || $1, 0))', [`:${name}`]);
}

/** SQLSTATE classes that mean "not now": connection, resources, shutdown, and a transaction to be tried again. */
const TRANSIENT = /^(08|53|57P0|40001|40P01|55P03)/;
const NODE_NETWORK = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
]);

/** Names what a driver threw: UNAVAILABLE where trying again may help, everything else unchanged. */
function toDatabaseError(error: unknown): unknown {
  if (error instanceof FairleadError) return error;
  const cause = error instanceof QueryFailedError ? (error.driverError as unknown) : error;
  const code = (cause as { code?: string } | null)?.code;
  // The driver's own failures (a connection that ended, a pool that timed out) carry no code, only a text.
  const away = code === undefined ? isDriverFailure(cause) : NODE_NETWORK.has(code) || TRANSIENT.test(code);
  if (!away) return error;
  return new FairleadError('UNAVAILABLE', `the database is away: ${messageOf(cause)}`, { cause: error });
}

function isDriverFailure(cause: unknown): boolean {
  return (
    cause instanceof Error &&
    /^(Connection terminated|timeout exceeded|Query read timeout|Client has encountered)/i.test(cause.message)
  );
}
